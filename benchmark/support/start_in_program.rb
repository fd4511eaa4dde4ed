# frozen_string_literal: true

# Required by a program that knows nothing of it (RUBYOPT): starts the profiler that the environment names.

require_relative "profilers/#{ENV.fetch("BENCHMARK_PROFILER")}"

name = ENV.fetch("BENCHMARK_PROFILER").split("_").map(&:capitalize).join
profiler = Object.const_get("#{name}Profiler").new(hz: 99, sink: ENV.fetch("BENCHMARK_SINK"), folder: nil)
profiler.load
profiler.start
