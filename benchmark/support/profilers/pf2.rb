# frozen_string_literal: true

require_relative "../profiler"

class Pf2Profiler < Profiler
  def load = require("pf2")
  def start = Pf2.start(interval_ms: (1000.0 / @hz).round, time_mode: @options.fetch(:mode, :cpu))
  def stop = @result = Pf2.stop

  def self_times
    require "pf2/reporter"
    require_relative "../pprof"
    Pprof.self_times(Pf2::Reporter::Pprof.new(@result).emit, "samples")
  end
end
