# frozen_string_literal: true

# A program that makes methods in each request and never calls them again, while it is profiled in short windows.
#
#   ruby -I lib spec/support/making_frames.rb KIND WINDOWS
#
# Ends with one line of JSON: the frames that are known, the requests made, and their objects that are alive, at the end of each
# window, and after windows in which nothing new came.

require "json"
require "rperf_push"
require "tmpdir"

class MakingFrames
  WINDOW = 0.25 # s
  DEPTH = 30    # methods that are new in each request
  SLEEP = 0.002
  TEXT = "x" * 20_000

  # Each calls the next one; in the last one a capture finds them all.
  SOURCE = [*(0...(DEPTH - 1)).map { |i| "def step#{i} = step#{i + 1}" }, "def step#{DEPTH - 1} = sleep(#{SLEEP})"].join("\n").freeze
  Steps = Module.new { module_eval(SOURCE) }
  NEW_CLASS = eval("-> { Class.new do\n#{SOURCE}\nend }", binding, __FILE__, __LINE__)

  def initialize(kind)
    @kind = kind
    @made = 0
    @alive = ObjectSpace::WeakMap.new
  end

  # @return [Array<Hash>] at the end of each window
  def run(windows)
    Array.new(windows) do
      in_one_window { request }
      state
    end
  end

  # @return [Hash] at the end
  def rest(windows)
    windows.times { in_one_window { sleep(SLEEP) } }
    state
  end

  private

  def in_one_window
    closed = RperfPush.stats[:windows_closed]
    yield until RperfPush.stats[:windows_closed] > closed
  end

  def state
    3.times { GC.start } # Ruby's own caches of a singleton class go in turns
    { known: RperfPush.stats[:frames_known], made: @made, alive: @alive.size }
  end

  def request
    object = send(@kind)
    object.step0
    @made += 1
    @alive[object] = true
  end

  def big(object) = object.tap { |it| it.instance_variable_set(:@text, TEXT.dup.concat("y")) }

  def extended = big(Object.new).extend(Steps)
  def with_singleton_methods = big(Object.new).tap { |it| it.singleton_class.class_eval(SOURCE) }
  def of_a_new_class = big(NEW_CLASS.call.new)
  def evaluated = big(Object.new).tap { |it| it.instance_eval(SOURCE, "evaluated.rb") }

  def reloaded
    self.class.send(:remove_const, :Loaded) if self.class.const_defined?(:Loaded, false)
    self.class.class_eval("class Loaded\n#{SOURCE}\nend", "loaded.rb")
    big(self.class::Loaded.new)
  end
end

Dir.mktmpdir do |folder|
  RperfPush.configure! do |config|
    config.application_name = "making-frames"
    config.backend = :directory
    config.directory = folder
    config.directory_max_files = 3
    config.frequency = 1000
    config.overhead_limit = 1
    config.upload_interval = MakingFrames::WINDOW
  end
  program = MakingFrames.new(ARGV.fetch(0))
  puts JSON.generate(windows: program.run(Integer(ARGV.fetch(1))), rest: program.rest(6))
  RperfPush.shutdown # nothing is written into the folder while it is removed
end
