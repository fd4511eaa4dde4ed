# frozen_string_literal: true

require "rperf_push"
require "rperf_push/remote/live_feed"
require "rperf_push/cli"

module Properties
  # Somebody who looks on from outside: finds the process, begins, and lets the program go on. What is recorded is in the folder `outside`.
  class Outside
    TURN = 0.005 # seconds
    MAX_WAIT = 20 # seconds
    HEADSTART = 0.0..0.3 # seconds, from when the session is asked for
    SECONDS = 0.1..1.5

    # @param folder [String] of the run
    # @param pid [Integer] of the program
    def initialize(folder, pid, plan)
      @folder = folder
      @pid = pid
      @random = Random.new(plan.seed)
      @engine = plan.engine
      @socket = eventually { Dir["#{folder}/tmp/rperf-push-*/*.sock"].find { |path| RperfPush::ControlClient.new(path).pid == pid } }
    end

    # The command, for some time.
    def attach
      arguments = ["attach", "-f", "99", "--engine", @engine, "-s", @random.rand(SECONDS).to_s, "-o", "#{@folder}/outside/attach.json", @pid.to_s]
      @command = fork { run(arguments) }
      go
    end

    # What the command's page is made of, until the program ends.
    def live
      feed = RperfPush::LiveFeed.new(frequency: 99, mode: "cpu,wall", interval_ms: 200, engine: @engine)
      feed.follow(RperfPush::ControlClient.new(@socket)) if @socket
      @listener = Thread.new { listen(feed) }
      go
    end

    def finish
      Process.wait(@command) if @command
      @listener&.join
    end

    private

    def go
      sleep @random.rand(HEADSTART)
      File.write("#{@folder}/go", "")
    end

    def run(arguments)
      [$stdout, $stderr].each { |io| io.reopen("#{@folder}/outside.log", "a").sync = true }
      ENV["RPERF_PUSH_CONTROL_SOCKET"] = @socket
      exit!(RperfPush::CLI.run(arguments))
    end

    def listen(feed)
      since = 0
      loop do
        head, windows = messages(feed.answer(since))
        windows.each_with_index { |bytes, at| File.binwrite("#{@folder}/outside/#{format("%06d", since + at)}.pb.gz", bytes) }
        since = head["next"]
        break if windows.empty? && head["processes"].all? { |one| one["state"] == "ended" }
      end
    end

    # @return [Array(Hash, Array<String>)] the document, and the profiles
    def messages(answer)
      all = []
      until answer.empty?
        size, = answer.unpack("N")
        all << answer.byteslice(5, size)
        answer = answer.byteslice((5 + size)..)
      end
      [JSON.parse(all.first), all.drop(1)]
    end

    def eventually
      (MAX_WAIT / TURN).to_i.times do
        found = yield
        return found if found

        sleep TURN
      end
      nil
    end
  end
end
