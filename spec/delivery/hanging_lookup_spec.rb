# frozen_string_literal: true

require "json"

# The resolver does not answer. libcurl looks names up in a thread of its own and, before 7.87, waits for its end when the lookup is given
# up, with its inner state half-way: a fork waits for that, but not for long.
RSpec.describe "A name lookup that hangs", :once, :waiting do
  program = <<~RUBY
    $stdout.sync = true
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def burn = (finish = now + 0.3; Math.sqrt(rand) until now > finish)
    RperfPush.configure! do |config|
      config.application_name = "shop"
      config.server_address = "http://hangs.test:4040"
      config.upload_timeout = 30
      config.shutdown_timeout = 1
    end
    burn
    flusher = Thread.new { RperfPush.flush(timeout: 5) }
    sleep 0.2
    began = now
    forks = []
    while now < began + 3 || forks.size < 11
      started = now
      child = fork { exit!(true) }
      forks << (now - started)
      Process.wait(child)
      sleep 0.02
    end
    flusher.join
    puts JSON.generate([forks.size, forks.max, RperfPush.stats])
    exit!(true)
  RUBY

  it "holds no fork for more than 100 ms" do
    library = "#{tmpdir}/hanging_lookup.so"
    source = File.expand_path("../support/hanging_lookup.c", __dir__)
    expect(system("cc", "-shared", "-fPIC", "-o", library, source, "-ldl")).to be(true)
    out, log, = run_ruby(program, env: { "LD_PRELOAD" => library }, arguments: ["-rjson"])
    forks, longest, stats = JSON.parse(out)
    RSpec.configuration.reporter.message("#{forks} forks, the longest #{(longest * 1000).round} ms")
    expect(stats["payloads_delivered"]).to eq(0), log
    expect(stats["payloads_created"]).to be_positive
    expect(forks).to be > 10
    expect(longest).to be < 15 # and what a fork takes on a busy machine; the try takes 30 s
  end
end
