# frozen_string_literal: true

# How long the page takes from the file to the flame graph, in a real browser: a pprof of STACKS different stacks.
#
#   bin/with-ruby 3.3 bundle exec ruby benchmark/page.rb [STACKS [DEPTH [FOLDER]]]
#
# FOLDER has another page (a copy of tmp/page from before a change), to compare with.

require "tmpdir"
require_relative "../lib/rperf_push"
require_relative "../lib/rperf_push/web_ui/page"
require_relative "../spec/support/chromium"

stacks = Integer(ARGV.fetch(0, "300000"))
depth = Integer(ARGV.fetch(1, "60"))
if ARGV[2]
  RperfPush::Page.send(:remove_const, :FOLDERS)
  RperfPush::Page::FOLDERS = [ARGV[2]].freeze
end
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

# The thread of the page that others wait for: what took longer than 50 ms.
watch = <<~JS
  void new PerformanceObserver((list) => (window.blocked = [...(window.blocked ?? []), ...list.getEntries().map((one) => Math.round(one.duration))]))
    .observe({ type: "longtask", buffered: true })
JS
# Until it is drawn, and nothing is added up any more.
drawn = <<~JS
  void (function wait() {
    if (document.querySelector("main[aria-busy]")) setTimeout(wait, 5);
    else requestAnimationFrame(() => setTimeout(() => { window.took = performance.now() - window.began }));
  })()
JS

def children(pid) = Dir["/proc/#{pid}/task/*/children"].flat_map { |path| File.read(path).split.map(&:to_i) }
def descendants(pid) = [pid, *children(pid).flat_map { |child| descendants(child) }]
def cpu_ms(task) = (File.read("#{task}/schedstat").to_i / 1e6).round

# CPU time of the process that has the page: of its own thread, and of the one for files.
def used(browser)
  pages = descendants(browser.pid).select { |pid| File.read("/proc/#{pid}/cmdline").include?("--type=renderer") }
  pid = pages.max_by { |one| cpu_ms("/proc/#{one}/task/#{one}") } # Chromium keeps a spare one
  threads = Dir["/proc/#{pid}/task/*"].select { |task| File.read("#{task}/comm").start_with?("DedicatedWorker") }
  [cpu_ms("/proc/#{pid}/task/#{pid}"), threads.sum { |task| cpu_ms(task) }]
end

browser = nil
begin
  { "in samples' order" => samples, "shuffled" => samples.shuffle(random:) }.each do |order, list|
    raw = RperfPush::Formats.unpacked(RperfPush::Formats.encode(data.merge(aggregated_samples: list), "x.pb.gz"), "x")
    path = File.join(Dir.mktmpdir("page-"), "large.html")
    File.write(path, RperfPush::Page.as_one_file("large", [RperfPush::Page::Entry.new("large.pb", nil, -> { raw })]))
    sizes = [raw.bytesize / 1e6, File.size(path) / 1e6]
    puts format("%d stacks of depth %d, %s: pprof of %.1f MB, page of %.1f MB", stacks, depth, order, *sizes)
    browser&.quit
    browser = Chromium.new
    browser.show("file://#{path}")
    puts format("CPU time of the page's thread: %d ms, of the one for files: %d ms", *used(browser))
    puts browser.run("performance.getEntriesByType('measure').map((one) => `${one.name}: ${Math.round(one.duration)} ms`).join('\\n')")
    browser.run(watch)
    puts "the page's thread was busy for #{browser.until_true("its tasks") { browser.run("window.blocked") }.inspect} ms at a stretch"
    steps.each do |name, code|
      before = used(browser)
      browser.run("void (delete window.took, window.blocked = [], window.began = performance.now(), #{code})")
      browser.run(drawn)
      took = browser.until_true(name) { browser.run("window.took") }
      cpu = used(browser).zip(before).map { |now, earlier| now - earlier }
      busy = browser.run("window.blocked")
      puts format("%s: %d ms, busy for %p ms at a stretch, CPU time of the threads %d and %d ms", name, took, busy, *cpu)
    end
  end
ensure
  browser&.quit
end
