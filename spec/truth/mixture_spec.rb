# frozen_string_literal: true

require_relative "../support/profiled_program"

# Threads do all that an application does, in random order: what is alone in a test has no neighbour to take time from. Each task has
# a method of its own, and is held against the clocks of its thread.
RSpec.describe "A mixture of tasks", :measures do
  program_text = <<~'RUBY'
    require "digest"
    require "monitor"
    require "socket"
    require "tempfile"
    require "zlib"

    TEXT = ("lorem ipsum dolor " * 1_500).freeze
    BYTES = Random.new(1).bytes(150_000).freeze
    LOCK, MONITOR, ASKED = Mutex.new, Monitor.new, Queue.new
    LEFT, RIGHT = UNIXSocket.pair
    FILE = Tempfile.new("mixture", binmode: true)
    FILE.write(BYTES)
    FILE.flush

    def compute = 12_000.times { |i| i * i % 7 }
    def sort = Array.new(4_000) { |i| i * 7_919 % 4_001 }.sort_by { |i| -i }
    def replace = TEXT.gsub(/\w+/) { |word| word.size.to_s }
    def deflate = Zlib.deflate(BYTES, 1)
    def digest = Digest::SHA256.digest(BYTES)
    def allocate = 3_000.times { |i| [i, i.to_s, { i => i }] }
    def rescue_errors = 300.times { Integer("x") rescue nil }
    def switch_fibers = Fiber.new { 400.times { Fiber.yield } }.then { |fiber| fiber.resume while fiber.alive? }
    def lock = 20.times { LOCK.synchronize { 300.times { |i| i * 3 } } }
    def nap = sleep(0.0004)
    def sleep_long = sleep(rand(0.008..0.02))
    def read_file = 10.times { File.binread(FILE.path) }
    def wait_for_answer = (answer = Queue.new; ASKED << answer; answer.pop)
    def talk = MONITOR.synchronize { 10.times { LEFT.write("ping"); RIGHT.readpartial(4) } }
    def select_nothing = IO.select([RIGHT], nil, nil, 0.003)

    TASKS = %i[compute sort replace deflate digest allocate rescue_errors switch_fibers lock nap sleep_long read_file wait_for_answer talk
              select_nothing].freeze

    def spend(task, sums)
      cpu, wall = Truth.thread_cpu, Truth.wall
      send(task)
      sums["cpu #{task}"] += Truth.thread_cpu - cpu
      sums["wall #{task}"] += Truth.wall - wall
    end

    Truth.profile do
      stop = Truth.wall + 6_000_000_000
      server = Thread.new { while (answer = ASKED.pop) do answer << 1 end }
      accounts = Array.new(4) do |i|
        Thread.new do
          random, sums = Random.new(i), Hash.new(0)
          spend(TASKS.sample(random: random), sums) while Truth.wall < stop
          sums
        end
      end
      accounts.map(&:value).each { |sums| sums.each { |name, sum| Truth[name] += sum } }
      ASKED << nil
      server.join
    end
  RUBY
  tasks = program_text[/TASKS = %i\[(.*?)\]/m, 1].split

  with_each_engine(program_text, frequency: 250) do
    %w[cpu wall].each do |value|
      tasks.each do |task|
        it "shows the #{value} time of #{task}" do
          seen = program.public_send(value) { |sample| sample.in?("Object##{task}") }
          expect(seen).to be_within((truth["#{value} #{task}"] * 0.05) + sampling_error(truth["#{value} #{task}"], frequency: 250))
            .of(truth["#{value} #{task}"]), "#{task}: #{seen / 1_000_000} ms of #{truth["#{value} #{task}"] / 1_000_000}"
        end
      end
    end
  end
end
