# frozen_string_literal: true

# The extension is this folder and the rooms of core/ and ruby/, every *.c of them: there is no list of sources to keep.

require "mkmf"
require "open3"

# --- nanopb's code for proto/: carried in the packaged gem, generated in a checkout and from git

carried = File.join(__dir__, "core", "generated")

if File.exist?(File.join(carried, "profile.pb.c"))
  generated = "$(srcdir)/core/generated"
else
  said, status = Open3.capture2e(File.join(__dir__, "..", "..", "bin", "generate-proto"), "generated")
  abort "rperf-push: no code was generated from proto/: #{said.strip.lines.last || status}" unless status.success?
  carried = generated = "generated"
end

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

need have_func("curl_multi_wakeup", "curl/curl.h"), "libcurl 7.68 or newer", "one that is no older than that"

pkg_config("zlib")
need have_header("zlib.h") && have_library("z", "deflate", "zlib.h"),
     "zlib", "zlib1g-dev (Debian), zlib-dev (Alpine) or zlib (Homebrew)"

need find_header("pb_encode.h", "/usr/include/nanopb", *HEADERS) &&
     find_library("protobuf-nanopb", "pb_encode_varint", *LIBRARIES),
     "nanopb", "libnanopb-dev (Debian), nanopb-dev (Alpine) or nanopb (Homebrew)"

need have_library("pthread", "pthread_create", "pthread.h"), "POSIX threads", "a C library that has them"
have_library("rt", "timer_create", "time.h") # before glibc 2.34, timers had a library of their own

# --- what this Ruby and this system offer; rb_compat.h reads the answers

{
  "rb_postponed_job_preregister" => "ruby/debug.h",
  "rb_profile_thread_frames" => "ruby/debug.h",
  "rb_internal_thread_specific_key_create" => "ruby/thread.h",
  "rb_ext_ractor_safe" => "ruby.h",
  "rb_obj_gc_flags" => [], # exported for objspace; no public header declares them
  "rb_gc_object_metadata" => [],
  "timer_create" => %w[signal.h time.h],
  "pthread_getcpuclockid" => %w[pthread.h time.h],
  "pthread_condattr_setclock" => %w[pthread.h time.h],
  "gettid" => "unistd.h"
}.each { |function, header| have_func(function, header) }

# --- sources and flags

rooms = Dir["{core,ruby}/*/", base: __dir__].sort - ["core/generated/"]
$srcs = Dir["{,#{rooms.join(",")}}*.c", base: __dir__].map { |path| File.basename(path) } + Dir["*.c", base: carried]
again = $srcs.tally.select { |_, count| count > 1 }.keys
abort "rperf-push: objects share one folder, so files need names of their own: #{again.join(", ")}" if again.any?
$VPATH.push(*rooms.map { |room| "$(srcdir)/#{room.chomp("/")}" }, generated)
$INCFLAGS << " -I$(srcdir) -I$(srcdir)/ruby -I$(srcdir)/core -I#{generated}"

$CPPFLAGS << " -D_GNU_SOURCE"
$CPPFLAGS << " -DRPP_TESTING" if ENV["RPERF_PUSH_TESTING"] == "1"
$CFLAGS << " -std=gnu11 -fvisibility=hidden"
CONFIG["optflags"] = "#{CONFIG["optflags"]} -O3" # a variable of make: `make optflags=-O1` has the last word
$warnflags = "-Wall -Wextra -Wno-unused-parameter -Werror=implicit-function-declaration"
append_ldflags("-Wl,--exclude-libs,ALL") # nanopb's symbols stay ours, whatever else is loaded

create_header
create_makefile("rperf_push/rperf_push")

# mkmf knows the headers beside the sources only.
headers = Dir[File.join(__dir__, "{core,ruby}", "*", "*.h"), File.join(carried, "*.h")]
File.write("Makefile", "\n$(OBJS): #{headers.map { |path| path.sub(__dir__, "$(srcdir)") }.join(" ")}\n", mode: "a")
