# frozen_string_literal: true

# Who is measured, by the names in the tables: the file of support/profilers, and its options. CPU profiles where there is
# a choice, as that is what each recommends for production; ours always have CPU and wall time.
module Peers
  OURS = {
    "rperf-push" => ["rperf_push", {}],
    "rperf-push, safepoint" => ["rperf_push", { engine: :safepoint }]
  }.freeze

  # No profiler, but what one that hears of every change of threads cannot do without.
  FLOOR = { "hooks that do nothing" => ["empty_hooks", {}] }.freeze

  LIVE = {
    "none" => ["none", {}],
    "rperf-push, off" => ["rperf_push_off", {}],
    **OURS,
    "stackprof" => ["stackprof", {}],
    "vernier" => ["vernier", {}],
    "pf2" => ["pf2", {}],
    "pyroscope" => ["pyroscope", {}],
    "datadog" => ["datadog", {}],
    "rperf" => ["rperf", {}]
  }.freeze

  # Whose results can be read back and held against the truth.
  READABLE = {
    "rperf-push, signal" => ["rperf_push", { engine: :signal, to_files: true }],
    "rperf-push, safepoint" => ["rperf_push", { engine: :safepoint, to_files: true }],
    "stackprof" => ["stackprof", {}],
    "vernier" => ["vernier", {}],
    "pf2" => ["pf2", {}],
    "pyroscope" => ["pyroscope", { own_sink: true }],
    "rperf" => ["rperf", {}]
  }.freeze

  # Started, but not sampling now.
  PAUSED = {
    "none" => ["none", {}],
    "rperf-push, off" => ["rperf_push_off", {}],
    **FLOOR,
    "rperf-push" => ["rperf_push_on_demand", { defer: true }],
    "rperf-push after a block" => ["rperf_push_on_demand", { defer: true, block: true }],
    "rperf" => ["rperf", { defer: true }],
    "rperf after a block" => ["rperf", { defer: true, block: true }]
  }.freeze

  module_function

  # Versions as they are measured, for the report.
  def versions
    %w[rperf-push stackprof vernier pf2 ruby-prof pyroscope datadog rperf].filter_map do |name|
      specification = Gem.loaded_specs[name] || Gem::Specification.stubs.find { |stub| stub.name == name }
      "#{name} #{specification.version}" if specification
    end
  end

  # A case for each of them; the block may change it.
  def cases(peers = LIVE, **rest)
    peers.map { |name, (profiler, settings)| Case.new(name:, profiler:, settings:, **rest) }
  end
end
