# frozen_string_literal: true

require "json"
require "net/http"
require "rbconfig"
require "zlib"
require_relative "../pprof_messages"
require_relative "received"

module FakeBackend
  # A fake server in a process of its own, with the same methods as one in a thread.
  class Remote
    attr_reader :url

    # @param program [String] the file of the fake server
    # @param options [Array<String>] of the command line, see Program
    def initialize(program, *options)
      @pipe = IO.popen([RbConfig.ruby, program, *options], "r+")
      @url, @control = Array.new(2) { @pipe.gets&.chomp }
      raise "the fake server did not start" unless @control
    end

    # @return [Array<Received>]
    def received = state["received"].map { |one| revive(one) }

    # @return [Array<Received>]
    def accepted = received.select(&:accepted?)

    # @return [Integer]
    def requests = state["requests"]

    # @return [Array<String>]
    def violations = received.flat_map(&:violations).uniq

    # @param faults [Hash] see Faults; none clears them
    def fault(**faults)
      answer = Net::HTTP.post(URI("#{@control}/fake_server/faults"), JSON.generate(faults))
      raise ArgumentError, answer.body unless answer.code == "200"
    end

    def stop
      Process.kill(:TERM, @pipe.pid)
      @pipe.close
    end

    # @return [Hash{String => Object}] all that the fake server tells
    def state = JSON.parse(Net::HTTP.get(URI("#{@control}/fake_server/received")))

    private

    def revive(one)
      raw = one["raw"].unpack1("m0")
      Received.new(**one.transform_keys(&:to_sym), at: Time.at(one["at"]), raw:, profile: decode(raw))
    end

    def decode(raw)
      PprofMessages::WireProfile.decode(raw.start_with?("\x1F\x8B".b) ? Zlib.gunzip(raw) : raw)
    rescue Google::Protobuf::ParseError, Zlib::Error
      nil
    end
  end
end
