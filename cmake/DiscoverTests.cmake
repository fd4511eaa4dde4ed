# discover_tests(TARGET) - registers each TEST of a test program (spec/core/test.h) with CTest, once it is built. Under a
# launcher or a sanitizer, which takes its time to start, the program is one test.
#
# Included by a CMakeLists.txt it defines the function; run as a script after the build it writes the list for CTest.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(discover_tests_script ${CMAKE_CURRENT_LIST_FILE})

  function(discover_tests target)
    if(NOT RPP_NUMBERS)
      set(selection --without-numbers)
    endif()
    set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D LIST=${list}
              -D WHOLE=${RPP_WHOLE_SUITES} -D "LAUNCHER=${RPP_LAUNCHER}" -D "SELECTION=${selection}"
              -P ${discover_tests_script}
      VERBATIM)
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${list})
  endfunction()

  return()
endif()

cmake_path(GET PROGRAM FILENAME suite)
if(WHOLE OR LAUNCHER)
  list(JOIN LAUNCHER " " launcher)
  file(WRITE ${LIST}
    "add_test(${suite} ${launcher} [=[${PROGRAM}]=] ${SELECTION})\n"
    "set_tests_properties(${suite} PROPERTIES TIMEOUT 900)\n")
  return()
endif()

execute_process(COMMAND ${PROGRAM} ${SELECTION} --list OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")

set(content "")
foreach(name IN LISTS names)
  string(APPEND content
    "add_test([=[${suite}.${name}]=] [=[${PROGRAM}]=] ${name})\n"
    "set_tests_properties([=[${suite}.${name}]=] PROPERTIES TIMEOUT 300)\n")
endforeach()
file(WRITE ${LIST} "${content}")
