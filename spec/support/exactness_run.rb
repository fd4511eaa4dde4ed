# frozen_string_literal: true

require_relative "helpers/waiting"
require_relative "helpers/ruby_program"
require_relative "fake_pyroscope/remote"
require_relative "working_process"

# Several processes with windows of a second, a server on which one fault follows another, and afterwards both accounts of
# it: what each process says of its windows, and what the server has seen.
#
#   run = ExactnessRun.new(seconds: 20, seed: 1).run
#   run.accounts.each { |account| account.closed == account.ended }
class ExactnessRun
  include Waiting

  PROCESSES = 3
  UPLOAD_TIMEOUT = 2

  # What the server does, and how often. Each ends with the next.
  FAULTS = [
    [8, {}], [2, { status: 503 }], [1, { status: 429, retry_after: 1 }], [1, { status: 500 }], [3, { status: 504 }],
    [2, { down: "refuse" }], [2, { lost_request: true }], [2, { delay: 0.4 }],
    [1, { delay: UPLOAD_TIMEOUT + 0.5 }]
  ].flat_map { |often, fault| [fault] * often }.freeze

  ENDS = %w[delivered unconfirmed dropped_queue_full dropped_too_old dropped_rejected dropped_retries dropped_shutdown
            dropped_spool_full dropped_damaged].map { |name| "payloads_#{name}" }.freeze

  # One process that lived to its end. The windows are the server's, each counted once.
  Account = Struct.new(:worker, :stats, :windows) do
    def [](name) = stats.fetch(name.to_s)
    def closed = self[:payloads_created]
    def ended = ENDS.sum { |name| stats.fetch(name) }
    def dropped = ended - self[:payloads_delivered] - self[:payloads_unconfirmed]
    def stored = windows.select(&:stored?)
    def sum(type) = windows.sum { |window| window.sum(type) }
  end

  # One window of one process, with each time that the server saw it.
  Window = Struct.new(:worker, :time_nanos, :sightings) do
    def stored? = sightings.any?(&:accepted?)
    def times_stored = sightings.count(&:accepted?)
    def profile = sightings.first.profile
    def samples = profile.sample.size
    def duration_nanos = profile.duration_nanos

    def sum(type)
      index = profile.sample_type.index { |one| profile.string_table[one.type] == type.to_s }
      profile.sample.sum { |sample| sample.value[index] }
    end
  end

  attr_reader :accounts, :windows, :faults, :killed

  # @param spool [String, nil] a folder that all share
  # @param kill [Boolean] whether processes are killed in between, and replaced
  def initialize(seconds:, seed:, spool: nil, kill: false)
    @seconds = seconds
    @random = Random.new(seed)
    @spool = spool
    @kill = kill
    @faults = Hash.new(0)
    @timeline = []
    @killed = []
    @started = 0
  end

  def run
    @fake_server = FakePyroscope::Remote.new("--rate", "1e9")
    @processes = Array.new(PROCESSES) { start }.to_h
    misbehave
    @fake_server.fault
    stats = finish
    read_windows
    @accounts = stats.map { |worker, its| Account.new(worker, its, windows.select { |window| window.worker == worker }) }
    self
  ensure
    @processes&.each_value(&:stop)
    @fake_server&.stop
  end

  # @return [String] the figures of the run
  def summary
    ends = ENDS.to_h { |name| [name.delete_prefix("payloads_"), accounts.sum { |account| account[name] }] }.reject { |_, count| count.zero? }
    "#{@seconds} s, #{faults.values.sum} faults and pauses, #{accounts.size} processes to the end, #{killed.size} killed; " \
      "closed #{accounts.sum(&:closed)}, #{ends.map { |name, count| "#{name} #{count}" }.join(", ")}; the server saw " \
      "#{windows.size} windows, stored #{windows.count(&:stored?)}, #{windows.count { |window| window.times_stored > 1 }} twice"
  end

  # @return [Array] what the server was told, and did, while it saw the window
  def story_of(window)
    range = (window.sightings.first.at - 2)..(window.sightings.last.at + 1)
    told = @timeline.select { |at, _| range.cover?(at) }.map { |at, fault| [at, "told", fault] }
    seen = window.sightings.map { |one| [one.at, "saw", one.status] }
    (told + seen).sort_by(&:first).map { |at, *what| [at.strftime("%T.%L"), *what] }
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # @return [Array(String, WorkingProcess)]
  def start
    worker = (@started += 1).to_s
    env = { "SERVER_ADDRESS" => @fake_server.url, "APPLICATION_NAME" => "exact", "TAGS" => "worker=#{worker}", "UPLOAD_INTERVAL" => "1",
            "UPLOAD_TIMEOUT" => UPLOAD_TIMEOUT.to_s, "SHUTDOWN_TIMEOUT" => "60", "SPOOL_DIRECTORY" => @spool }.compact
    [worker, WorkingProcess.new(env.transform_keys { |name| "RPERF_PUSH_#{name}" })]
  end

  def misbehave
    suffer({ status: 503 }, 2.5) # each process has a window meanwhile, so that something is sent again
    stop = now + @seconds
    next_death = now + 4
    while now < stop
      suffer(FAULTS.sample(random: @random), @random.rand(0.2..1.2))
      next unless @kill && now > next_death

      kill
      next_death = now + @random.rand(2.0..5.0)
    end
  end

  def suffer(fault, seconds)
    @fake_server.fault(**fault)
    @faults[fault] += 1
    @timeline << [Time.now, fault]
    sleep(seconds)
  end

  def kill
    worker = @processes.keys.sample(random: @random)
    process = @processes.delete(worker)
    Process.kill(:KILL, process.pid)
    process.stop
    @killed << worker
    @processes.store(*start)
  end

  # All that waits is sent before the first one ends, lest one leaves to another what the account then misses.
  def finish
    wait_until("an empty spool", timeout: 180, interval: 0.2) { flush && Dir.empty?(@spool) } if @spool
    @processes.transform_values(&:end_profiling)
  end

  def flush = @processes.values.map { |process| process.run("RperfPush.flush(timeout: 2)") }

  def read_windows
    seen = @fake_server.received.group_by { |one| [one.labels.to_h.fetch("worker"), one.time_nanos] }
    @windows = seen.map { |(worker, time), sightings| Window.new(worker, time, sightings) }.sort_by(&:time_nanos)
  end
end
