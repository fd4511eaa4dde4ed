# frozen_string_literal: true

# How long the page takes from the file to the flame graph, in a real browser: a pprof of STACKS different stacks.
#
#   bin/with-ruby 3.3 bundle exec ruby benchmark/page.rb [STACKS [DEPTH]]

require "tmpdir"
require_relative "../lib/rperf_push"
require_relative "../lib/rperf_push/page"
require_relative "../spec/support/chromium"

stacks = Integer(ARGV.fetch(0, "300000"))
depth = Integer(ARGV.fetch(1, "60"))
random = Random.new(1)
frames = Array.new(5000) { |index| ["app/models/m#{index % 300}.rb", "Model#{index % 300}#method_#{index}", index % 400] }
# Stacks part ways at some depth, as those of programs do.
path = []
samples = Array.new(stacks) do
  path = path.take(random.rand((depth / 2)..(depth - 1)))
  path << frames[random.rand(frames.size)] while path.size < depth
  [path.reverse, 10_000_000 + random.rand(1000), 1 + random.rand(8), random.rand(20)]
end
sets = Array.new(20) { |index| { endpoint: "GET /path/#{index}" } }
data = { mode: :cpu, label_sets: sets }

steps = {
  "zoom" => "document.querySelectorAll('g.frame')[5].dispatchEvent(new MouseEvent('click', { bubbles: true }))",
  "top" => "document.querySelector('[data-view=table]').click()",
  "tree" => "document.querySelector('[data-view=tree]').click()",
  "callers" => "document.querySelector('[data-view=callers]').click()",
  "timeline" => "document.querySelector('[data-view=timeline]').click()",
  "tagfocus" => "Object.assign(document.querySelector('#tagfocus'), { value: 'path/1$' }).dispatchEvent(new Event('change'))",
  "flame graph" => "document.querySelector('[data-view=flame]').click()",
  "search" => "Object.assign(document.querySelector('#search'), { value: 'method_1' }).dispatchEvent(new Event('change'))"
}

# The thread of the page that others wait for: what took longer than 50 ms, until the profile is there.
blocked = <<~JS
  void new PerformanceObserver((list) => (window.blocked = list.getEntries().map((one) => Math.round(one.duration)))).observe({ type: "longtask", buffered: true })
JS

browser = Chromium.new
begin
  { "in samples' order" => samples, "shuffled" => samples.shuffle(random:) }.each do |order, list|
    raw = RperfPush::Formats.unpacked(RperfPush::Formats.encode(data.merge(aggregated_samples: list), "x.pb.gz"), "x")
    path = File.join(Dir.mktmpdir("page-"), "large.html")
    File.write(path, RperfPush::Page.as_one_file("large", [RperfPush::Page::Entry.new("large.pb", nil, -> { raw })]))
    sizes = [raw.bytesize / 1e6, File.size(path) / 1e6]
    puts format("%d stacks of depth %d, %s: pprof of %.1f MB, page of %.1f MB", stacks, depth, order, *sizes)
    browser.show("file://#{path}")
    puts browser.run("performance.getEntriesByType('measure').map((one) => `${one.name}: ${Math.round(one.duration)} ms`).join('\\n')")
    browser.run(blocked)
    puts "the page's thread was busy for #{browser.until_true("its tasks") { browser.run("window.blocked") }.inspect} ms at a stretch"
    steps.each do |name, code|
      browser.run("void (delete window.took, window.began = performance.now(), #{code}, " \
                  "requestAnimationFrame(() => setTimeout(() => { window.took = performance.now() - window.began })))")
      puts format("%s: %d ms", name, browser.until_true(name) { browser.run("window.took") })
    end
  end
ensure
  browser.quit
end
