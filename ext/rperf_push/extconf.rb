# frozen_string_literal: true

# The extension is this folder and core/, every *.c of both: there is no list of sources to keep.

require "mkmf"

# --- libraries from the system

def need(found, library, packages)
  abort "rperf-push needs #{library}, please install #{packages}" unless found
end

HOMEBREW = %w[/opt/homebrew /usr/local].freeze
HEADERS = HOMEBREW.flat_map { |prefix| ["#{prefix}/include", "#{prefix}/include/nanopb"] }
LIBRARIES = HOMEBREW.map { |prefix| "#{prefix}/lib" }

pkg_config("libcurl")
need have_header("curl/curl.h") && have_library("curl", "curl_easy_init", "curl/curl.h"),
     "libcurl", "libcurl4-openssl-dev (Debian), curl-dev (Alpine) or curl (Homebrew)"

pkg_config("zlib")
need have_header("zlib.h") && have_library("z", "deflate", "zlib.h"),
     "zlib", "zlib1g-dev (Debian), zlib-dev (Alpine) or zlib (Homebrew)"

need find_header("pb_encode.h", "/usr/include/nanopb", *HEADERS) &&
     find_library("protobuf-nanopb", "pb_encode_varint", *LIBRARIES),
     "nanopb", "libnanopb-dev (Debian), nanopb-dev (Alpine) or nanopb (Homebrew)"

need have_library("pthread", "pthread_create", "pthread.h"), "POSIX threads", "a C library that has them"

# --- what this Ruby and this system offer; rb_compat.h reads the answers

{
  "rb_postponed_job_preregister" => "ruby/debug.h",
  "rb_profile_thread_frames" => "ruby/debug.h",
  "rb_internal_thread_specific_key_create" => "ruby/thread.h",
  "rb_ext_ractor_safe" => "ruby.h",
  "timer_create" => %w[signal.h time.h],
  "pthread_getcpuclockid" => %w[pthread.h time.h],
  "pthread_condattr_setclock" => %w[pthread.h time.h],
  "gettid" => "unistd.h"
}.each { |function, header| have_func(function, header) }

# --- nanopb's code for proto/: carried in the packaged gem, generated in a checkout

carried = File.join(__dir__, "core", "generated")
generator = File.join(__dir__, "..", "..", "bin", "generate-proto")

if File.exist?(File.join(carried, "profile.pb.c"))
  generated = "$(srcdir)/core/generated"
else
  system(generator, "generated") or abort "rperf-push: no code was generated from proto/"
  carried = generated = "generated"
end

# --- sources and flags

$srcs = Dir[File.join(__dir__, "{,core/}*.c"), File.join(carried, "*.c")].map { |path| File.basename(path) }
$VPATH.push("$(srcdir)/core", generated)
$INCFLAGS << " -I$(srcdir) -I$(srcdir)/core -I#{generated}"

$CPPFLAGS << " -D_GNU_SOURCE"
$CPPFLAGS << " -DRPP_TESTING" if ENV["RPERF_PUSH_TESTING"] == "1"
$CFLAGS << " -std=gnu11 -O3 -fvisibility=hidden"
$warnflags = "-Wall -Wextra -Wno-unused-parameter"
append_ldflags("-Wl,--exclude-libs,ALL") # nanopb's symbols stay ours, whatever else is loaded

create_header
create_makefile("rperf_push/rperf_push")

# mkmf knows the headers beside the sources only.
headers = Dir[File.join(__dir__, "core", "*.h"), File.join(carried, "*.h")]
File.write("Makefile", "\n$(OBJS): #{headers.map { |path| path.sub(__dir__, "$(srcdir)") }.join(" ")}\n", mode: "a")
