# frozen_string_literal: true

require "json"
require "optparse"

module FakeBackend
  # A fake server as a program: prints its own address and that of its control, then works until its input ends or it is
  # told to stop, so that it cannot outlive who started it. The control has a port of its own, to be reached while the
  # fake server refuses connections.
  #
  #   GET  /fake_server/received    everything that came, as JSON; raw profiles in base64
  #   POST /fake_server/faults      a JSON object as in Faults; an empty one clears them
  class Program
    # @param kind [Class] of the fake server; `declare` adds its own options
    # @param arguments [Array<String>] of the command line
    def self.run(kind, arguments)
      options = {}
      stay = false
      OptionParser.new do |parser|
        parser.on("--port N", Integer) { |port| options[:port] = port }
        parser.on("--prefix PATH") { |prefix| options[:prefix] = prefix }
        parser.on("--stay", "work on when the input ends") { stay = true }
        kind.declare(parser, options)
      end.parse!(arguments)
      new(kind.new(**options)).run(stay:)
    end

    def initialize(fake_server)
      @fake_server = fake_server
    end

    def run(stay: false)
      control = HttpServer.new { |request| answer(request) }
      $stdout.sync = true
      puts @fake_server.url, control.url
      %w[INT TERM].each { |signal| trap(signal) { exit } }
      stay ? sleep : $stdin.read
    end

    private

    def answer(request)
      case [request.verb, request.path]
      in ["GET", "/fake_server/received"]
        HttpAnswer.json(200, JSON.generate(**@fake_server.state, received: @fake_server.received.map { |one| plain(one) }))
      in ["POST", "/fake_server/faults"]
        @fake_server.fault(**JSON.parse(request.body, symbolize_names: true))
        HttpAnswer.json(200, "{}")
      else
        HttpAnswer.text(404, "404 page not found\n")
      end
    rescue ArgumentError, JSON::ParserError => e
      HttpAnswer.text(400, e.message)
    end

    def plain(received)
      received.to_h.merge(at: received.at.to_f, raw: [received.raw].pack("m0"), profile: nil)
    end
  end
end
