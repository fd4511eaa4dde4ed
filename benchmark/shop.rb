# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"
require "tempfile"
require_relative "../examples/support/shop_process"

# shop.rb - the example shop on Puma, as busy as it can be.
class Shop < Benchmark
  TITLE = "The shop on Puma at full load"

  # The clock of another process's CPU time, as clock_getcpuclockid makes it of the process's number (Linux).
  class MeasuredShop < ShopProcess
    def cpu = Process.clock_gettime((~@pid << 3) | 2)
  end

  PEERS = %w[none rperf-push stackprof vernier pf2 pyroscope datadog rperf].freeze

  private

  def sections
    @sink = Sink.new
    names = @settings.profilers ? PEERS & @settings.profilers : PEERS
    results = names.to_h { |name| [name, []] }
    rounds(5).times { |round| names.shuffle.each { |name| visit(name, round, results) } }
    [explanation, table(results.reject { |_, runs| runs.empty? })].join("\n\n")
  ensure
    @sink&.close
  end

  def explanation
    "#{seconds} s of load by 8 clients each, 99 Hz; the load generator shares the cores. Target: rperf-push ≤ 1.01× CPU per " \
      "request, p99 within noise."
  end

  def seconds = quick? ? 1 : 10

  def visit(name, round, results)
    return unless results[name].size == round # it failed before

    @progress.at("round #{round + 1}: the shop, #{name}")
    results[name] << serve(name)
  rescue StandardError => e
    @runner.failures << "#{name} (shop): #{e.message.lines.last.to_s.strip}"
  end

  def serve(name)
    log = Tempfile.new("shop")
    shop = MeasuredShop.new(environment(name), log_path: log.path)
    shop.serve(seconds: quick? ? 0.3 : 3, clients: 8)
    before = shop.cpu
    served = shop.serve(seconds:, clients: 8)
    { cpu: (shop.cpu - before) / served[:requests], p99: served[:p99_ms], rate: served[:rate], errors: served[:errors] }
  ensure
    shop&.stop
    log&.close!
  end

  def environment(name)
    return { "SHOP_PROFILE" => "1", "RPERF_PUSH_SERVER_ADDRESS" => @sink.url } if name == "rperf-push"
    return { "SHOP_PROFILE" => "0" } if name == "none"

    { "SHOP_PROFILE" => "0", "RUBYOPT" => "-r#{File.expand_path("support/start_in_program", __dir__)}",
      "RUBYLIB" => $LOAD_PATH.select { |path| File.directory?(path) }.join(File::PATH_SEPARATOR),
      "BENCHMARK_PROFILER" => Peers::LIVE.fetch(name).first, "BENCHMARK_SINK" => @sink.url }
  end

  def table(results)
    base = results.fetch("none").map { |run| run[:cpu] }
    table = Table.new("", "CPU ms a request", "ratio", "quartiles", "p99 ms", "requests a second", "errors")
    results.each { |name, runs| table << row(name, runs, base) }
    table
  end

  def row(name, runs, base)
    cpu = runs.map { |run| run[:cpu] }
    ratio = Statistics.spread(Statistics.ratios(cpu, base.first(cpu.size)))
    [name, format("%.3f", Statistics.median(cpu) * 1000), format("%.3f×", ratio.median),
     format("%.3f–%.3f", ratio.low, ratio.high), format("%.1f", Statistics.median(runs.map { |run| run[:p99] })),
     format("%.1f", Statistics.median(runs.map { |run| run[:rate] })), runs.sum { |run| run[:errors] }]
  end
end

Shop.main(__FILE__)
