# frozen_string_literal: true

require "rperf_push"
require "rperf_push/cli"
require "rperf_push/cli/page_server"
require "net/http"

# The server of the page, and those who connect without being a browser of ours.
RSpec.describe RperfPush::CLI::PageServer, :once, :waiting do
  app = ->(env) { [200, { "content-type" => "text/plain" }, [env.values_at("PATH_INFO", "QUERY_STRING").join("?")]] }

  before do
    @server = described_class.new(app, host: "127.0.0.1", port: 0)
    @serving = Thread.new { @server.run }
    @open = []
  end

  after do
    @open.each(&:close)
    @serving.kill.join
  end

  def connect(text = "", uri: URI(@server.url))
    TCPSocket.new(uri.host, uri.port).tap do |socket|
      @open << socket
      socket.write(text)
    end
  end

  def page = Net::HTTP.get(URI("#{@server.url}a?b=1"))
  def is_let_go(socket) = socket.wait_readable(60) && socket.read.empty?

  it "gives no thread to who has not shown the token, and lets them delay nobody" do
    of_server = -> { Thread.list.count { |thread| thread.inspect.include?("/page_server.rb:") } } # Net::HTTP has threads, too
    30.times { |index| connect("GET /x HTTP/1.1\r\n"[0, index]) }
    expect(page).to eq("/a?b=1")
    expect(of_server.call).to be <= 1 # that of the request may be about to end
    forbidden = connect("GET /x/ HTTP/1.1\r\n\r\n")
    expect(forbidden.read).to start_with("HTTP/1.1 403 Forbidden\r\n")
    expect(of_server.call).to be <= 1
  end

  it "has no icon there, which a browser asks for without the token: no error, and nothing else" do
    expect(connect("GET /favicon.ico HTTP/1.1\r\n\r\n").read).to eq("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
    expect(connect("GET /favicon.ico/x HTTP/1.1\r\n\r\n").read).to start_with("HTTP/1.1 403 Forbidden\r\n")
  end

  it "keeps so many who wait, and lets the oldest go" do
    stub_const("#{described_class}::CONNECTIONS_MAX", 4)
    silent = Array.new(10) { connect }
    expect(page).to eq("/a?b=1")
    expect(silent.first(7).map { |socket| is_let_go(socket) }).to all(be(true))
    expect(silent.last(3).map { |socket| socket.wait_readable(0) }).to all(be_nil)
  end

  it "has one deadline for the whole head, however slowly it comes" do
    stub_const("#{described_class}::HEAD_SECONDS", 0.3)
    slow = connect("GET ")
    wait_until("its end") do
      slow.write("/")
      sleep 0.05
      slow.wait_readable(0) && slow.read_nonblock(1, exception: false).nil?
    rescue Errno::EPIPE, Errno::ECONNRESET
      true
    end
    expect(page).to eq("/a?b=1")
  end

  it "refuses a head without end" do
    expect(connect("GET /#{"x" * described_class::HEAD_BYTES}").then { |socket| socket.wait_readable(60) && socket.read_nonblock(1, exception: false) }).to be_nil
  rescue Errno::ECONNRESET
    expect(page).to eq("/a?b=1")
  end

  it "goes on after connections that were reset" do
    5.times { connect("GET").tap { |socket| socket.setsockopt(:SOCKET, :LINGER, [1, 0].pack("ii")) }.close }
    expect(page).to eq("/a?b=1")
  end

  it "goes on when the process can have no further descriptor" do
    code = <<~RUBY
      require "rperf_push/cli"
      require "rperf_push/cli/page_server"
      server = RperfPush::CLI::PageServer.new(->(_) { [200, {}, ["here"]] }, host: "127.0.0.1", port: 0)
      $stdout.sync = true
      puts server.url
      Thread.new do
        gets # it has answered once: whatever that needs is there
        free = File.open("/dev/null", &:fileno)
        Process.setrlimit(:NOFILE, free + 3)
        puts "limited"
      end
      server.run
    RUBY
    program = IO.popen([RubyProgram::WITHOUT_GEMS, RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", "-e", code], "r+")
    url = URI(program.gets.chomp)
    expect(Net::HTTP.get(url)).to eq("here")
    program.puts
    expect(program.gets).to eq("limited\n")
    10.times { connect(uri: url) }
    3.times { expect(Net::HTTP.get(url)).to eq("here") }
  ensure
    Process.kill(:KILL, program.pid) if program
    program&.close
  end
end
