# frozen_string_literal: true

# How long the page takes from the file to the flame graph, in a real browser: a pprof of STACKS different stacks.
#
#   bin/with-ruby 3.3 bundle exec ruby benchmark/page.rb [STACKS [DEPTH]]

require "tmpdir"
require_relative "../lib/rperf_push"
require_relative "../lib/rperf_push/page"
require_relative "../spec/support/chromium"

stacks = Integer(ARGV.fetch(0, "300000"))
depth = Integer(ARGV.fetch(1, "50"))
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
raw = RperfPush::Formats.unpacked(RperfPush::Formats.encode({ mode: :cpu, aggregated_samples: samples, label_sets: sets }, "x.pb.gz"), "x")
path = File.join(Dir.mktmpdir("page-"), "large.html")
File.write(path, RperfPush::Page.as_one_file("large", [RperfPush::Page::Entry.new("large.pb", nil, -> { raw })]))
puts format("%d stacks of depth %d: pprof of %.1f MB, page of %.1f MB", stacks, depth, raw.bytesize / 1e6, File.size(path) / 1e6)

browser = Chromium.new
begin
  browser.show("file://#{path}")
  puts browser.run("performance.getEntriesByType('measure').map((one) => `${one.name}: ${Math.round(one.duration)} ms`).join('\\n')")
  {
    "zoom" => "document.querySelectorAll('g.frame')[5].dispatchEvent(new MouseEvent('click', { bubbles: true }))",
    "top" => "document.querySelector('[data-view=table]').click()",
    "tree" => "document.querySelector('[data-view=tree]').click()",
    "timeline" => "document.querySelector('[data-view=timeline]').click()",
    "tagfocus" => "Object.assign(document.querySelector('#tagfocus'), { value: 'path/1$' }).dispatchEvent(new Event('change'))",
    "flame graph" => "document.querySelector('[data-view=flame]').click()",
    "search" => "Object.assign(document.querySelector('#search'), { value: 'method_1' }).dispatchEvent(new Event('change'))"
  }.each do |name, code|
    browser.run("void (delete window.took, window.began = performance.now(), #{code}, " \
                "requestAnimationFrame(() => setTimeout(() => { window.took = performance.now() - window.began })))")
    puts format("%s: %d ms", name, browser.until_true(name) { browser.run("window.took") })
  end
ensure
  browser.quit
end
