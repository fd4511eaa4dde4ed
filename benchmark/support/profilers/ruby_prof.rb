# frozen_string_literal: true

require_relative "../profiler"

# Traces every call instead of sampling.
class RubyProfProfiler < Profiler
  def load = require("ruby-prof")

  def start
    @profile = RubyProf::Profile.new(measure_mode: RubyProf::WALL_TIME)
    @profile.start
  end

  def stop = @result = @profile.stop

  def self_times
    @result.threads.flat_map(&:methods).each_with_object(Hash.new(0)) { |method, sums| sums[method.full_name] += method.self_time }
  end
end
