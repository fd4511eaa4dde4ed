# frozen_string_literal: true

require "json"
require_relative "burner"
require_relative "stress_program"

# The sweep in a process of its own, on the testing build: the processor steps, or, where it cannot, ticks come at 5 kHz.
module SweepProgram
  PROGRAM = File.join(StressProgram::ROOT, "spec/sweep/program.rb")

  # @return [Array(Hash, String, Process::Status)] what it found (nil if it did not end well), what it said, how it ended
  def sweep(*arguments, env: {}, timeout: 600)
    command = [RbConfig.ruby, "-I", StressProgram::TESTING_LIB, "-I", RubyProgram::LIB, "-I", BurnerExtension.load_path, PROGRAM,
               *arguments.map(&:to_s)]
    hz = RUBY_PLATFORM.match?(/x86_64-linux/) ? "1" : "5000"
    out, err, status = run_program(command, env: { "RPERF_PUSH_TESTING_HZ" => hz, "SWEEP_VERBOSE" => "1", "RPERF_PUSH_TESTING_RACTORS" => "1", **env }, timeout:)
    [status.success? ? JSON.parse(out.lines.last) : nil, err.lines.grep_v(/\A\s+from/).last(40).join, status]
  end

  # @return [Hash{String => Array}] what was wrong, by operation
  def wrong_in(found) = found["operations"].transform_values { |operation| operation["wrong"] }.reject { |_, wrong| wrong.empty? }

  def captured_in(found) = found["operations"].sum { |_, operation| operation["outcomes"].fetch("captured", 0) }
end
