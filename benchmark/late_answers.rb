# frozen_string_literal: true

# What a server that answers late costs a process: Pyroscope 2 answers when it has flushed, up to 0.5 s later. How long the end of a process
# takes, and whether an upload interval holds.
#
#   bin/with-ruby 3.4 ruby benchmark/late_answers.rb
#   bin/with-ruby 3.4 ruby benchmark/late_answers.rb --answer 0.5 --intervals 1,2 --seconds 20 CHECKOUT...   # compiled ones, compared

require "optparse"
require "rbconfig"
require "socket"

options = { answer: 0.5, intervals: [1, 2], seconds: 20 }
checkouts = OptionParser.new do |parser|
  parser.on("--answer SECONDS", Float) { |seconds| options[:answer] = seconds }
  parser.on("--intervals LIST", Array) { |list| options[:intervals] = list.map { |text| Integer(text) } }
  parser.on("--seconds N", Integer) { |seconds| options[:seconds] = seconds }
end.parse
checkouts = [File.expand_path("..", __dir__)] if checkouts.empty?

# Asks for each body, and answers it late. Each connection has a thread, as each has its own answer.
def serve(server, answer)
  loop do
    Thread.new(server.accept) do |socket|
      while (head = socket.gets("\r\n\r\n"))
        socket.write("HTTP/1.1 100 Continue\r\n\r\n") if head.match?(/100-continue/i)
        socket.read(head[/content-length: (\d+)/i, 1].to_i)
        sleep answer
        socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n")
      end
    rescue SystemCallError
      nil # the process has ended
    end
  end
end

PROGRAM = <<~'RUBY'
  require "rperf_push"
  address, modes, intervals, seconds = ARGV
  now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
  lock, kept = Mutex.new, []
  work = lambda do
    waiter = Thread.new { lock.synchronize { sleep 0.05 } }
    200.times { kept << "a" * 100 }
    kept.clear if kept.size > 10_000
    GC.start
    lock.synchronize { 300_000.times { |i| i * 2 } }
    waiter.join
  end
  begin_session = lambda do |interval|
    RperfPush.configure! do |config|
      config.server_address, config.mode, config.upload_interval, config.application_name = address, modes.split(",").map(&:to_sym), interval, "late"
    end
  end

  begin_session.(10)
  work.()
  began = now.()
  RperfPush.shutdown
  row = ["end #{((now.() - began) * 1000).round} ms"]
  intervals.split(",").each do |interval|
    before = RperfPush.stats
    begin_session.(Integer(interval))
    stop, most = now.() + Integer(seconds), 0
    while now.() < stop
      work.()
      sleep 0.1
      most = [most, RperfPush.stats[:queue_payloads]].max
    end
    RperfPush.shutdown
    counts = %i[payloads_created payloads_delivered payloads_unconfirmed payloads_dropped_shutdown].map { |name| RperfPush.stats[name] - before[name] }
    row << format("interval %s s: %d in the queue at most, %d of %d delivered, %d unconfirmed, %d dropped", interval, most, counts[1], counts[0], *counts.drop(2))
  end
  puts row.join("; ")
RUBY

server = TCPServer.new("127.0.0.1", 0)
thread = Thread.new { serve(server, options[:answer]) }
checkouts.each do |checkout|
  ["cpu,wall", "cpu,wall,alloc,heap,contention"].each do |modes|
    command = [RbConfig.ruby, "-I", File.join(checkout, "lib"), "-e", PROGRAM, "http://127.0.0.1:#{server.addr[1]}", modes,
               options[:intervals].join(","), options[:seconds].to_s]
    puts "#{checkout} #{modes}: #{IO.popen(command, err: File::NULL, &:read)}"
  end
end
thread.kill
