# frozen_string_literal: true

require "rperf_push"
require "json"
require "net/http"
require "pty"
require_relative "../support/held_port"
require_relative "../support/chromium"

# What shows the page: `view`, and `report` and `diff` on a terminal that has a browser.
RSpec.describe "rperf-push view", :once do
  include CommandLine

  before do
    @path = "#{tmpdir}/p.json.gz"
    RperfPush.save(@path, { mode: :cpu, aggregated_samples: [[[["#{tmpdir}/code.rb", "A#b", 2]], 1_000_000, 1, 0]], label_sets: [{}] })
    File.write("#{tmpdir}/code.rb", "def b\n  :source_of_b\nend\n")
  end

  def command(*arguments) = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, *arguments]

  it "refuses a limit that is none, in one line" do
    File.write(path = "#{tmpdir}/stacks.txt", "a;b 1\n")
    expect(rperf_push("view", "--max-bytes", "0", path).to_a).to eq(["", "rperf-push: view: max_bytes must be a number of bytes above 0, got 0\n", 1])
  end

  it "serves the page on 127.0.0.1 to who knows the token, and nothing else" do
    serving("view", @path) do |url|
      uri = URI(url)
      expect(uri.host).to eq("127.0.0.1")
      expect(uri.path).to match(%r{\A/[\w-]{20,}/\z})
      page = Net::HTTP.get_response(uri)
      policy = page["content-security-policy"]
      expect(policy).to start_with("default-src 'none'; script-src 'self'; style-src 'self';")
      expect(policy).not_to include("unsafe")
      expect(JSON.parse(Net::HTTP.get(uri + "profiles.json"))).to eq("title" => "p.json.gz", "files" => [{ "name" => "p.json.gz", "url" => "files/0" }], "source" => true, "max_bytes" => 268_435_456)
      expect(Net::HTTP.get(uri + "files/0")).to eq(File.binread(@path))
      expect(Net::HTTP.get(uri + "source?path=#{tmpdir}/code.rb")).to include("source_of_b")
      File.write("#{tmpdir}/other.rb", "SECRET = 1", perm: 0o600)
      expect(Net::HTTP.get_response(uri + "source?path=#{tmpdir}/other.rb").code).to eq("404")
      expect(%w[/ /profiles.json /x/files/0].map { |path| Net::HTTP.get_response(uri + path).code }).to eq(%w[403 403 403])
      expect(["files/1", "nothing", "source?path=/etc/passwd", "../#{File.basename(__FILE__)}"].map { |path| Net::HTTP.get_response(uri + path).code.to_i }).to all(be_between(403, 404))
      expect(Net::HTTP.post(uri, "").code).to eq("405")

      TCPSocket.open(uri.host, uri.port) { |socket| socket.write("nonsense\r\n\r\n") && expect(socket.read).to(eq("")) }
      expect(Net::HTTP.get_response(uri).code).to eq("200")
    end
  end

  it "is drawn by a browser under that policy, with source lines" do
    browser = Chromium.new
    serving("view", @path) do |url|
      expect(browser.show(url).boxes).to eq("all" => 1.0, "A#b" => 1.0)
      browser.show(url, view: "source", method: JSON.generate(["A#b", "#{tmpdir}/code.rb"]))
      browser.until_true("the source") { browser.rows.any? { |row| row.last.include?("source_of_b") } }
      expect(browser.rows.map { |row| row[2] }).to eq(%w[1 2 3])
      expect(browser.rows[1]).to eq(["1.00 ms 100.0 %", "1.00 ms 100.0 %", "2", "  :source_of_b"])
      expect(browser.requests).to all(start_with(url).or(start_with("data:")).or(start_with("about:")).or(start_with("blob:")))
    end
  ensure
    browser&.quit
  end

  it "says in a line what is wrong" do
    File.write("#{tmpdir}/empty", "")
    Dir.mkdir("#{tmpdir}/none")
    taken = TCPServer.new("127.0.0.1", 0)
    { ["#{tmpdir}/nothing"] => /nothing: No such file or directory/, ["#{tmpdir}/empty"] => /empty: is empty/, ["#{tmpdir}/none"] => /no profiles in this folder/,
      ["--port", "70000", @path] => /port must be from 0 to 65535/, ["--port", taken.addr[1].to_s, @path] => /127.0.0.1:\d+: Address already in use/ }.each do |arguments, message|
      ended = rperf_push("view", *arguments)
      expect([ended.out, ended.status]).to eq(["", 1])
      expect(ended.err).to match(/\Arperf-push: view: .*#{message}.*\n\z/)
    end
  ensure
    taken&.close
  end

  describe "from report and diff" do
    # A browser that writes down what it was asked for.
    def in_terminal(*arguments, browser: true)
      File.write("#{tmpdir}/browser", "#!/bin/sh\necho \"$@\" > #{tmpdir}/asked.part && mv #{tmpdir}/asked.part #{tmpdir}/asked\n")
      File.chmod(0o755, "#{tmpdir}/browser")
      env = { **CommandLine.silence, "BROWSER" => browser ? "#{tmpdir}/browser" : nil, "DISPLAY" => nil, "WAYLAND_DISPLAY" => nil }
      PTY.spawn(env, *command(*arguments)) do |output, _, pid|
        yield output, pid
      end
    end

    it "opens on a terminal with a browser, and ends with Ctrl-C" do
      other = "#{tmpdir}/q.json.gz".tap { |path| FileUtils.cp(@path, path) }
      [["report", @path], ["diff", @path, other]].each do |arguments|
        in_terminal(*arguments) do |output, pid|
          url = output.gets[%r{\Ahttp://\S+/}]
          wait_until("the browser") { File.exist?("#{tmpdir}/asked") }
          expect(File.read(File.read("#{tmpdir}/asked")[%r{\Afile://(.+)\n\z}, 1])).to include("content=\"0; url=#{url}\"")
          sides = JSON.parse(Net::HTTP.get(URI(url) + "profiles.json"))["files"].map { |file| file["side"] }
          expect(sides).to eq(arguments.first == "diff" ? %w[base target] : [nil])
          File.delete("#{tmpdir}/asked")
          Process.kill(:INT, pid)
          Process.wait(pid)
        end
      end
    end

    it "has no token in the browser's command line: a file that only this user can read leads there, and goes" do
      in_terminal("view", @path) do |output, pid|
        url = output.gets[%r{\Ahttp://\S+/}]
        wait_until("the browser") { File.exist?("#{tmpdir}/asked") }
        asked = File.read("#{tmpdir}/asked")
        expect(asked).not_to include(URI(url).path.delete("/"))
        file = asked[%r{\Afile://(.+)\n\z}, 1]
        expect([file, File.dirname(file)].map { |path| File.stat(path).then { |stat| [stat.mode & 0o777, stat.owned?] } }).to eq([[0o600, true], [0o700, true]])
        expect(Net::HTTP.get_response(URI(url) + "/").code).to eq("403")
        expect(File).to exist(file)
        expect(Net::HTTP.get_response(URI(url)).code).to eq("200")
        wait_until("the file to go") { !File.exist?(file) }
        Process.kill(:INT, pid)
        Process.wait(pid)
      end
    end

    it "leaves no file where no browser has come" do
      in_terminal("view", @path) do |_, pid|
        wait_until("the browser") { File.exist?("#{tmpdir}/asked") }
        Process.kill(:TERM, pid)
        Process.wait(pid)
        expect(File).not_to exist(File.read("#{tmpdir}/asked")[%r{\Afile://(.+)\n\z}, 1])
      end
    end

    it "is served where they are told to, without a terminal, too" do
      port = HeldPort.new
      { ["report", "--port", port.to_s, @path] => ["127.0.0.1", port.number], ["diff", "--host", "localhost", @path, @path] => ["localhost", Integer] }.each do |arguments, place|
        serving(*arguments) do |url|
          expect([URI(url).host, URI(url).port]).to match(place)
          expect(Net::HTTP.get_response(URI(url)).code).to eq("200")
        end
      end
      expect(rperf_push("report", "--port", "65536", @path).to_a).to eq(["", "rperf-push: report: port must be from 0 to 65535\n", 1])
    end

    it "prints without a browser, and wherever text is asked for" do
      { [["report", @path], false] => /^Total: /, [["report", "--top", @path], true] => /^ Flat:/, [["diff", @path, @path], false] => /^Total: \S+ → / }.each do |(arguments, browser), first|
        in_terminal(*arguments, browser:) do |output, pid|
          text = +""
          begin
            loop { text << output.readpartial(4096) }
          rescue Errno::EIO, EOFError
            Process.wait(pid)
          end
          expect(text.b.force_encoding(Encoding::UTF_8)).to match(first)
          expect(text.b).not_to include("http://")
        end
      end
    end
  end

  it "writes the page as one file, and never over an input" do
    html = rperf_push("report", "--html", @path)
    expect([html.err, html.status]).to eq(["", 0])
    expect(html.out).to start_with("<!doctype html>").and include("script-src 'sha256-").and include([File.binread(@path)].pack("m0"))
    expect(html.out).not_to match(/(?:src|href)="(?!data:)/)
    before = File.binread(@path)
    expect(rperf_push("report", "--html", @path, "-o", @path).err).to match(/is one of the inputs/)
    expect(File.binread(@path)).to eq(before)
    expect(rperf_push("diff", "--html", @path, @path, "-o", "#{tmpdir}/d.html").status).to eq(0)
    expect(File.read("#{tmpdir}/d.html")).to start_with("<!doctype html>")
  end
end
