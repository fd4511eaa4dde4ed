# frozen_string_literal: true

# What the VM's hook for new objects costs: while it is on, to switch, and what switching leaves behind. docs/memory.md has the results.
#
#   ruby benchmark/allocations.rb
#
# It compiles a small extension into a temporary folder, because only C code can have this hook.

require "fileutils"
require "rbconfig"
require "tmpdir"

SOURCE = <<~C
  #include <ruby.h>
  #include <ruby/debug.h>
  static VALUE hook;
  static long seen;
  static void on_new_object(VALUE tracepoint, void *unused) { seen++; }
  static VALUE on(VALUE self) { rb_tracepoint_enable(hook); return Qnil; }
  static VALUE off(VALUE self) { rb_tracepoint_disable(hook); return Qnil; }
  void Init_new_objects(void)
  {
      VALUE module = rb_define_module("NewObjects");
      hook = rb_tracepoint_new(0, RUBY_INTERNAL_EVENT_NEWOBJ, on_new_object, 0);
      rb_gc_register_mark_object(hook);
      rb_define_singleton_method(module, "on", on, 0);
      rb_define_singleton_method(module, "off", off, 0);
  }
C

ROUNDS = 9
OBJECTS = 3_000_000
SWITCHES = 10_000

def compile(folder)
  File.write("#{folder}/new_objects.c", SOURCE)
  File.write("#{folder}/extconf.rb", 'require "mkmf"; create_makefile("new_objects")')
  system("#{RbConfig.ruby} extconf.rb >/dev/null && make >/dev/null 2>&1", chdir: folder, exception: true)
  require "#{folder}/new_objects"
end

def create
  left = OBJECTS / 3
  while left.positive?
    Object.new
    "a".dup
    [left]
    left -= 1
  end
end

def switch
  SWITCHES.times do
    NewObjects.on
    NewObjects.off
  end
end

# @return [Float] CPU nanoseconds of each, in the best round
def best(count)
  Array.new(ROUNDS) do
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
    yield
    (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - before).fdiv(count)
  end.min
end

Dir.mktmpdir { |folder| compile(folder) }
create
off = best(OBJECTS) { create }
NewObjects.on
on = best(OBJECTS) { create }
NewObjects.off
switched = best(SWITCHES) { switch }
after = best(OBJECTS) { create }

yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
puts "ruby #{RUBY_VERSION}#{" with YJIT" if yjit}"
puts format("an object               %6.1f ns", off)
puts format("the hook adds           %6.1f ns", on - off)
puts format("to switch on and off    %6.1f ns", switched)
puts format("an object, after %6d %5.3f x", ROUNDS * SWITCHES, after / off)
puts "invalidated blocks      #{RubyVM::YJIT.runtime_stats[:invalidation_count] || "not counted"}" if yjit
