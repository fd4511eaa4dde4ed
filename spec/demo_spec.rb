# frozen_string_literal: true

require "socket"

# The example shop under load, in the worlds that it may run in.
RSpec.describe "The demo", :once, :long do
  demo = File.expand_path("../examples/demo.rb", __dir__)
  times = /^ +\d+\.\d\d s +\d+\.\d % +\d+\.\d\d s +\d+\.\d\d s/ # of a method of the application's own
  no_locale = ENV.keys.grep(/\A(?:LANG|LANGUAGE|LC_.*)\z/).to_h { |name| [name, nil] }

  def run_demo(program, env, *options)
    quiet = ENV.keys.grep(/\A(?:RPERF_PUSH|PYROSCOPE|OTEL)_/).to_h { |name| [name, nil] }
    run_program([RbConfig.ruby, "-I", RubyProgram::LIB, program, *options, "3", "files"], env: quiet.merge(env), chdir: tmpdir, timeout: 240)
  end

  def shop_log = File.readlines("#{tmpdir}/tmp/demo/shop.log").last(30).join

  { "in the locale C" => { "LC_ALL" => "C" }, "without a locale" => no_locale }.each do |world, env|
    it "answers every request #{world}, and tells where the time went" do
      out, err, status = run_demo(demo, { **no_locale, **env })
      expect([status.exitstatus, err]).to eq([0, ""]), "#{err}#{shop_log}"
      expect(out).to match(/^Served \d\d+ requests, .* 0 errors$/).and match(/#{times}  Shop::\w+(?:::\w+)*[#.]\w+$/)
    end
  end

  it "runs the bookshop, a Rails application" do
    out, err, status = run_demo(demo, {}, "--rails")
    expect([status.exitstatus, err]).to eq([0, ""]), "#{err}#{shop_log}"
    expect(out).to match(/^Served \d+ requests, .* 0 errors$/).and match(/#{times}  Product#\w+$/)
      .and match(%r{#{times}  app/views/products/\w+\.html\.erb$}).and match(%r{ GET /books/:id\(/:title\)$})
  end

  it "counts an answer that is none as an error of the shop, and goes on visiting" do
    server = TCPServer.new("127.0.0.1", 0)
    answering = Thread.new do
      loop { server.accept.then { |client| client.gets && client.write("HTTP/1.1\r\n\r\n") && client.close } }
    rescue IOError, SystemCallError
      nil # the end
    end
    load = File.expand_path("../examples/shop/load.rb", __dir__)
    out, err, status = run_program([RbConfig.ruby, load, "http://127.0.0.1:#{server.addr[1]}", "--seconds", "0.5", "--clients", "2", "--json"])
    expect([status.exitstatus, err]).to eq([0, ""])
    expect(JSON.parse(out)).to include("requests" => 0, "error_kinds" => include("Net::HTTPBadResponse" => be > 1))
  ensure
    server.close
    answering.join
  end

  it "fails and says so when requests do" do
    File.write("#{tmpdir}/broken.rb", <<~RUBY)
      broken = Module.new { def dump(*) = $PROGRAM_NAME.include?("puma") ? raise("broken") : super }
      Marshal.singleton_class.prepend(broken) # the shop's cache
    RUBY
    _, err, status = run_demo(demo, { "RUBYOPT" => "#{ENV.fetch("RUBYOPT", nil)} -r#{tmpdir}/broken.rb" })
    expect(status.exitstatus).to eq(1)
    expect(err).to match(/\Ademo: \d+ requests failed \(\d+ × status 500\); see tmp\/demo\/shop.log\n\z/)
  end
end
