# Builds with musl-gcc, against musl's own headers and the few of the system that it may share: of libraries that were built
# with glibc, the headers only. So CURL::libcurl and ZLIB::ZLIB give no library here, and programs that want one of them are
# compiled, and not linked.

set(musl_headers ${PROJECT_BINARY_DIR}/headers)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
file(MAKE_DIRECTORY ${musl_headers})

# musl_share(HEADER...) - files or folders below the system's include folders
function(musl_share)
  foreach(header IN LISTS ARGN)
    find_path(folder_of_${header} ${header} PATHS /usr/include/${multiarch} /usr/include PATH_SUFFIXES nanopb
      REQUIRED NO_DEFAULT_PATH)
    file(CREATE_LINK ${folder_of_${header}}/${header} ${musl_headers}/${header} SYMBOLIC)
  endforeach()
endfunction()

musl_share(curl zlib.h zconf.h pb.h pb_common.h pb_decode.h pb_encode.h)
musl_share(linux asm asm-generic) # the kernel's

foreach(library CURL::libcurl ZLIB::ZLIB)
  add_library(${library} INTERFACE IMPORTED)
endforeach()
include_directories(SYSTEM ${musl_headers})

# What wants libcurl or zlib. A program that does and is not listed fails to link, as one that wants what musl has not.
set(RPP_NOT_LINKED
  fuzz_http_answer fuzz_spool_file fuzz_url
  test_backend_fallback test_backend_http test_backend_ingest test_backend_parca test_backend_pyroscope
  test_exporter test_window_files test_gzip_sink test_http_client test_spool test_spool_file test_uploader test_uploader_spool
  test_uploads_at_once)

find_library(Nanopb_LIBRARY libprotobuf-nanopb.a PATHS /usr/lib/${multiarch} REQUIRED) # calls nothing but memcpy
set(Nanopb_INCLUDE_DIR ${musl_headers})
