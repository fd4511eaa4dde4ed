# Finds nanopb's runtime (Nanopb::nanopb) and brings nanopb_generate().

find_path(Nanopb_INCLUDE_DIR pb_encode.h PATH_SUFFIXES nanopb)
find_library(Nanopb_LIBRARY protobuf-nanopb)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nanopb
  REQUIRED_VARS Nanopb_LIBRARY Nanopb_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libnanopb-dev (Debian), nanopb-dev (Alpine) or nanopb (Homebrew)")

if(Nanopb_FOUND AND NOT TARGET Nanopb::nanopb)
  add_library(Nanopb::nanopb UNKNOWN IMPORTED)
  set_target_properties(Nanopb::nanopb PROPERTIES
    IMPORTED_LOCATION ${Nanopb_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Nanopb_INCLUDE_DIR})
endif()

# nanopb_generate(SOURCES FOLDER) - compiles proto/*.proto at build time; sets both names in the caller's scope.
function(nanopb_generate sources_name folder_name)
  set(folder ${PROJECT_BINARY_DIR}/generated)
  file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.proto)
  file(GLOB options CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.options)

  set(sources "")
  set(headers "")
  foreach(proto IN LISTS protos)
    cmake_path(GET proto STEM name)
    list(APPEND sources ${folder}/${name}.pb.c)
    list(APPEND headers ${folder}/${name}.pb.h)
  endforeach()

  add_custom_command(
    OUTPUT ${sources} ${headers}
    COMMAND ${PROJECT_SOURCE_DIR}/bin/generate-proto ${folder}
    DEPENDS ${protos} ${options} ${PROJECT_SOURCE_DIR}/bin/generate-proto
    COMMENT "Generating nanopb sources"
    VERBATIM)
  set(${sources_name} ${sources} ${headers} PARENT_SCOPE)
  set(${folder_name} ${folder} PARENT_SCOPE)
endfunction()
