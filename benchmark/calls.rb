# frozen_string_literal: true

require "json"
require "open3"
require "rbconfig"

# calls.rb - how much longer a program takes when every call of it is traced: rperf-push, ruby-prof, nothing.
#
#   bin/with-ruby --benchmark 3.4 ruby benchmark/calls.rb [--rounds N] [--only fib,tarai,rdoc] [--tracers none,ruby-prof] [--yjit]
#
#   bin/with-ruby 3.4 bundle exec ruby benchmark/calls.rb --updates
#     how long an update takes for somebody who looks on (rperf-push live --trace), of a large tree and of a small one: that long the
#     process has no other thread that runs
#
# "empty hook" is the floor: the VM calls a function of the C library that does nothing, at the same events. No tracer that hears of
# every call can cost less. Each run is a process of its own; tracers take turns. The time is the CPU time of the process while the
# program runs, without the start and the end of the tracing, which have columns of their own.
module Calls
  LIB = File.expand_path("../lib", __dir__)

  PROGRAMS = {
    "fib" => <<~RUBY,
      def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
      PROGRAM = -> { fib(25) }
    RUBY
    "tarai" => <<~RUBY,
      def tarai(x, y, z) = x <= y ? y : tarai(tarai(x - 1, y, z), tarai(y - 1, z, x), tarai(z - 1, x, y))
      PROGRAM = -> { tarai(10, 5, 0) }
    RUBY
    "rdoc" => <<~RUBY
      require "rdoc"
      require "tmpdir"
      FILES = Dir[File.join(RbConfig::CONFIG["rubylibdir"], "{set,time,ostruct}.rb")]
      PROGRAM = -> { Dir.mktmpdir { |folder| RDoc::RDoc.new.document(["--quiet", "--ri", "--op", folder + "/out", *FILES]) } }
    RUBY
  }.freeze

  TRACERS = {
    "none" => <<~RUBY,
      def start = nil
      def stop = {}
    RUBY
    "rperf-push" => <<~RUBY,
      require "rperf_push"
      def start = @trace = RperfPush::CallTrace.new(**OPTIONS).tap(&:start)
      def stop
        @trace.pause
        -> { tree = @trace.data[:tree]; { calls: tree.calls, nodes: tree.nodes.size, bytes: tree.bytes, taken: tree.overhead_ns / 1e9 } }
      end
    RUBY
    "empty hook" => <<~RUBY,
      require "fiddle"
      def start
        types = [Fiddle::TYPE_VOIDP, -Fiddle::TYPE_INT, Fiddle::TYPE_UINTPTR_T, Fiddle::TYPE_INT]
        add = Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_add_event_hook2"], types, Fiddle::TYPE_VOID)
        raw = 5 # RUBY_EVENT_HOOK_FLAG_SAFE, and _RAW_ARG: the function gets two arguments
        add.call(Fiddle::Handle::DEFAULT["labs"], OPTIONS[:events], Fiddle::Qnil, raw)
      end
      def stop = {}
    RUBY
    "ruby-prof" => <<~RUBY
      require "ruby-prof"
      def start = @profile = RubyProf::Profile.new(measure_mode: RubyProf::WALL_TIME).tap(&:start)
      def stop
        result = @profile.stop
        -> { { calls: result.threads.sum { |thread| thread.methods.sum(&:called) } } }
      end
    RUBY
  }.freeze

  OF_RUBY = 0x8 | 0x10 # RUBY_EVENT_CALL, _RETURN
  OF_C = 0x20 | 0x40 # RUBY_EVENT_C_CALL, _C_RETURN

  CASES = {
    "none" => ["none", {}], "empty hook" => ["empty hook", { events: OF_RUBY | OF_C }], "rperf-push" => ["rperf-push", {}],
    "empty hook without C methods" => ["empty hook", { events: OF_RUBY }],
    "rperf-push without C methods" => ["rperf-push", { c_methods: false }],
    "rperf-push with CPU time" => ["rperf-push", { mode: %i[cpu wall] }], "ruby-prof" => ["ruby-prof", {}]
  }.freeze

  CHILD = <<~'RUBY'
    def clock(which) = Process.clock_gettime(which)
    def resident = File.read("/proc/self/statm").split[1].to_i * 4096
    PROGRAM.call if ARGV.include?("warm")
    GC.start
    before = resident
    from = clock(Process::CLOCK_PROCESS_CPUTIME_ID)
    start
    began = clock(Process::CLOCK_PROCESS_CPUTIME_ID)
    PROGRAM.call
    ended = clock(Process::CLOCK_PROCESS_CPUTIME_ID)
    facts = stop
    facts = facts.call if facts.respond_to?(:call)
    done = clock(Process::CLOCK_PROCESS_CPUTIME_ID)
    require "json"
    puts JSON.generate({ cpu: ended - began, start: began - from, stop: done - ended, grew: resident - before, **facts })
  RUBY

  # Each chain of ten methods, as deep as the tree is to be.
  UPDATES = <<~'RUBY'
    require "rperf_push"
    require "rperf_push/calls/call_trace"
    class Walk
      10.times do |number|
        class_eval("def m#{number}(levels) = levels.zero? || (#{Array.new(10) { |one| "m#{one}(levels - 1)" }.join("; ")})")
      end
    end
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    levels = Integer(ARGV.first)
    orders, done = Queue.new, Queue.new
    Thread.new do
      trace = RperfPush::CallTrace.new(c_methods: false, max_nodes: 200_000)
      trace.start(outside: true, follows: true)
      while (what = orders.pop)
        parts = []
        begin
          began = clock
          text, more = trace.update
          parts << [clock - began, text.bytesize]
        end while more
        done << parts
      end
      trace.pause
      done << trace.tree.nodes.size
    end
    look = -> { orders << :look and done.pop }
    look.call
    walk = Walk.new
    walk.m0(levels)
    first = look.call
    idle = Array.new(200) { look.call }
    few = Array.new(50) { walk.m0(2) && look.call }
    all = Array.new(5) { walk.m0(levels) && look.call }
    orders << nil
    nodes = done.pop
    row = ->(what, parts) { format("| %d | %s | %d | %.3f | %.3f | %d |", nodes, what, parts.size, parts.sum(&:first) * 1e3, parts.map(&:first).max * 1e3, parts.sum(&:last) / 1000) }
    median = ->(all) { all.sort_by { |parts| parts.sum(&:first) }[all.size / 2] }
    puts row.("all are new", first), row.("none have changed", median.(idle)), row.("111 have changed", median.(few)), row.("all have changed", median.(all))
  RUBY

  module_function

  def updates
    puts "Ruby #{RUBY_VERSION}; medians\n\n| nodes | | parts | ms | the longest part, ms | KB |", "|---:|---|---:|---:|---:|---:|"
    [2, 5].each do |levels|
      out, err, status = Open3.capture3(RbConfig.ruby, "-I", LIB, "-e", UPDATES, levels.to_s)
      abort err unless status.success?
      puts out
    end
  end

  def main(arguments)
    return updates if arguments.include?("--updates")

    rounds = value(arguments, "--rounds")&.to_i || 7
    only = value(arguments, "--only")&.split(",") || PROGRAMS.keys
    flags = arguments.include?("--yjit") ? ["--yjit"] : []
    puts "Ruby #{RUBY_VERSION}#{" with YJIT" if flags.any?}, #{rounds} rounds, the best of each (the median in brackets)\n\n"
    cases = CASES.slice(*(value(arguments, "--tracers")&.split(",") || CASES.keys))
    only.each { |program| compare(program, cases.keys, rounds, flags) }
  end

  def value(arguments, name) = arguments.include?(name) ? arguments[arguments.index(name) + 1] : nil

  def compare(program, names, rounds, flags)
    results = Hash.new { |all, name| all[name] = [] }
    rounds.times { names.shuffle.each { |name| results[name] << run(program, name, flags) } }
    base = results["none"].compact
    puts "| #{program} | CPU s | factor | start s | stop s | calls | nodes | tree, KB | taken out, s |",
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    names.each { |name| puts row(name, results[name].compact, base) }
    puts
  end

  def run(program, name, flags)
    tracer, options = CASES.fetch(name)
    code = "OPTIONS = #{options.inspect}\n#{PROGRAMS.fetch(program)}\n#{TRACERS.fetch(tracer)}\n#{CHILD}"
    out, err, status = Open3.capture3(RbConfig.ruby, *flags, "-I", LIB, "-e", code, "warm")
    return JSON.parse(out.lines.last, symbolize_names: true) if status.success?

    $stderr.puts "#{name} (#{program}): #{err.lines.first}"
  end

  def row(name, runs, base)
    return "| #{name} | failed |" if runs.empty?

    best = runs.min_by { |run| run[:cpu] }
    factors = [best[:cpu] / base.map { |run| run[:cpu] }.min, median(runs.map { |run| run[:cpu] }) / median(base.map { |run| run[:cpu] })]
    format("| %s | %.3f | %.2f× (%.2f×) | %.3f | %.3f | %s | %s | %s | %s |", name, best[:cpu], *factors, best[:start], best[:stop],
           best[:calls], best[:nodes], best[:bytes] && (best[:bytes] / 1024), best[:taken]&.round(3))
  end

  def median(numbers) = numbers.sort[numbers.size / 2]
end

Calls.main(ARGV) if $0 == __FILE__
