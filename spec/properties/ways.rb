# frozen_string_literal: true

require_relative "../support/fake_parca"
require_relative "../support/fake_pyroscope"

module Properties
  # How a program is profiled.
  #
  #   inner    the session that the program itself begins, a method of Sessions
  #   command  what is in front of it on the command line
  #   server   where profiles of `run` go: a fake server's class, or :directory
  #   outside  who looks on from outside: :attach or :live
  #   faults   what the server does wrong, one of them by the seed
  #   modes    what is profiled
  Way = Data.define(:name, :inner, :command, :server, :outside, :faults, :modes) do
    def initialize(name:, inner: nil, command: nil, server: nil, outside: nil, faults: [{}], modes: %i[cpu wall]) = super

    # @return [Boolean] whether all of its sessions are the program's own
    def inner_only? = inner && !command
    # @return [Boolean] whether its profiles are sent while the program runs
    def continuous? = command == :run
  end

  # For the first second.
  PASSING = [{}, { status: 503 }, { status: 429, retry_after: 1 }, { down: "refuse" }, { lost_request: true }, { delay: 0.8 }].freeze
  # From some moment on.
  LASTING = [{ status: 503 }, { status: 504 }, { status: 500 }, { down: "refuse" }, { down: "close" }, { lost_request: true }, { delay: 4 }].freeze
  EVERYTHING = %i[cpu wall alloc contention].freeze

  WAYS = [
    Way.new(name: "alone", modes: []),
    Way.new(name: "start_stop", inner: :start_stop, modes: EVERYTHING),
    Way.new(name: "block", inner: :block),
    Way.new(name: "snapshots", inner: :snapshots, modes: EVERYTHING),
    Way.new(name: "inherit", inner: :inherit),
    Way.new(name: "defer", inner: :defer),
    Way.new(name: "middle", inner: :middle),
    Way.new(name: "record_cpu", command: :record, modes: %i[cpu]),
    Way.new(name: "record_wall", command: :record, modes: %i[wall]),
    Way.new(name: "record_both", command: :record),
    Way.new(name: "record_all", command: :record, modes: EVERYTHING),
    Way.new(name: "stat", command: :stat),
    Way.new(name: "exec", command: :exec),
    Way.new(name: "trace", command: :trace, modes: %i[calls]),
    Way.new(name: "run_directory", command: :run, server: :directory),
    Way.new(name: "run_server", command: :run, server: FakePyroscope, faults: PASSING),
    Way.new(name: "run_parca", command: :run, server: FakeParca, faults: PASSING),
    Way.new(name: "run_lost", command: :run, server: FakePyroscope, faults: LASTING),
    Way.new(name: "attach", command: :run, server: :directory, outside: :attach),
    Way.new(name: "live", command: :run, server: :directory, outside: :live),
    Way.new(name: "several", inner: :start_stop, command: :run, server: :directory, outside: :attach)
  ].to_h { |way| [way.name, way] }.freeze
end
