# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tempfile"
require_relative "support/benchmark"

# instructions.rb - what a hook and a capture execute, and whose code it is: counted by callgrind, so nearly the same on any machine,
# however busy: only when a hook reads the CPU clock depends on time. Needs valgrind, and the testing build (rake compile:testing).
class Instructions < Benchmark
  TITLE = "Where the rest goes"

  ROOT = File.expand_path("..", __dir__)
  TURNS = 10_000
  CAPTURES = 300
  PREAMBLE = <<~RUBY
    require "rperf_push"
    require "#{__dir__}/support/depth"
    require "#{__dir__}/workloads/pipe"
    RperfPush.start(frequency: 99, mode: %i[cpu wall], engine: :signal, lines: true)
  RUBY

  LABEL_SETS = [10, 1000].freeze
  SPANS = [200, 1200].freeze # in a row: what the first ones take longer falls out of the difference
  # Without the GC, whose turn comes by chance.
  SPANS_PREAMBLE = <<~RUBY
    require "rperf_push"
    require "opentelemetry/sdk"
    def trace(spans) = $tracer.in_span("span") { trace(spans - 1) if spans > 1 }
    def begin_tracing
      OpenTelemetry::SDK.configure { |config| config.add_span_processor(OpenTelemetry::SDK::Trace::SpanProcessor.new) }
      $tracer = OpenTelemetry.tracer_provider.tracer("benchmark")
      GC.disable
    end
  RUBY
  INTEGRATION = 'require "rperf_push/opentelemetry"; '
  ON = "RperfPush.start(frequency: 1, mode: :wall, engine: :safepoint); "

  # Whose it is, by the file of the source or the library.
  OWNERS = { "rperf-push" => %r{/rperf_push/}, "C library" => %r{\A\./|/(libc|ld-linux)}, "Ruby" => // }.freeze

  private

  def sections
    table = Table.new("", "instructions", *OWNERS.keys)
    table << ["a GVL release, three hooks", *shares(release)]
    [1, 100, 200].each { |depth| table << ["a capture at depth #{depth}, with lines", *shares(capture(depth))] }
    ["System calls are counted up to the kernel's door only: see `capture.rb` for what the CPU clock takes.",
     table, labels, spans].join("\n\n")
  end

  # What a change of labels and the change back execute, without the GC, whose turn comes by chance.
  def labels
    table = Table.new("", *LABEL_SETS.map { |sets| "one of #{sets} label sets" })
    table << ["an empty block under labels", *LABEL_SETS.map { |sets| format("%.0f", relabelling(sets)) }]
  end

  # @return [Float] instructions of a block, with so many label sets in turn
  def relabelling(sets)
    turns = quick? ? 2 * sets : TURNS
    code = "GC.disable; #{turns}.times { |i| RperfPush.label(endpoint: i % #{sets}) {} }"
    count("native_with_labels", "lib", code).values.sum.fdiv(turns)
  end

  # What `rperf_push/opentelemetry` adds to a span, in the interpreter.
  def spans
    table = Table.new("instructions of", "OpenTelemetry alone", "with span_id, nothing runs", "with span_id, profiled")
    traces = ["", INTEGRATION, INTEGRATION + ON].map { |setup| [1, 2].map { |spans| trace(setup, spans) } }
    table << ["a local root span", *traces.map { |root, _| format("%.0f", root) }]
    table << ["a span below it", *traces.map { |root, both| format("%.0f", both - root) }]
  end

  # @return [Float] instructions of a trace of so many spans
  def trace(setup, spans)
    turns = quick? ? [20, 40] : SPANS
    first, last = turns.map do |number|
      code = "#{setup}begin_tracing; Array.new(#{number}).map! { trace(#{spans}) }"
      count("rb_ary_collect_bang", "lib", code, preamble: SPANS_PREAMBLE).values.sum
    end
    (last - first).fdiv(turns.last - turns.first)
  end

  # @return [Hash{String => Float}] instructions of one, by owner
  def release
    turns = quick? ? 200 : TURNS
    count("rb_thread_execute_hooks", "lib", "Pipe.new(depth: 100).run(#{turns})").transform_values { |sum| sum / (turns * 2.0) }
  end

  def capture(depth)
    often = "RperfPush::Native.capture_often"
    code = "Depth.at(#{depth}) { #{often}(10); sleep 0.3; #{often}(#{CAPTURES}) }"
    count("capture_often", "tmp/testing/lib", code).transform_values { |sum| sum / (CAPTURES + 10.0) }
  end

  def shares(counts)
    total = counts.values.sum
    [format("%.0f", total), *OWNERS.keys.map { |owner| format("%.0f %%", counts.fetch(owner, 0) / total * 100) }]
  end

  # @return [Hash{String => Integer}] instructions within the function, by owner
  def count(function, library, code, preamble: PREAMBLE)
    @progress.at("callgrind: #{function}")
    Tempfile.create("callgrind") do |file|
      run("valgrind", "--tool=callgrind", "--callgrind-out-file=#{file.path}", "--toggle-collect=#{function}",
          RbConfig.ruby, "-I", File.join(ROOT, library), "-I", File.join(ROOT, "lib"), "-e", preamble + code)
      by_owner(run("callgrind_annotate", "--auto=no", "--threshold=100", file.path))
    end
  end

  def by_owner(annotated)
    annotated.scan(/^ *([\d,]+) \( *[\d.]+%\)  (.+:.+)$/).each_with_object(Hash.new(0)) do |(count, place), sums|
      sums[OWNERS.find { |_, file| file.match?(place) }.first] += count.delete(",").to_i
    end
  end

  def run(*command)
    output, status = Open3.capture2e(*command)
    raise "#{command.first}: #{output.lines.last(3).join}" unless status.success?

    output
  end
end

Instructions.main(__FILE__)
