# frozen_string_literal: true

require_relative "../support/profile_page"

# Of a profile with many calls the thread that reads files makes the call trees, if it can.
RSpec.describe "The page of a large profile", :once do
  include ProfilePage

  # All of 17 levels with two methods each: 131,070 calls.
  many = Array.new(65_536) { |path| [Array.new(16) { |level| ["a.rb", "A#m#{level}_#{path[level]}", 1] }, 1000, 1, path % 2] }
  large = { mode: :cpu, aggregated_samples: many, label_sets: [{ part: "even" }, { part: "odd" }], values: { wall: many.each_index.map { |at| at < 16_384 ? 3000 : 1000 } } }
  other = { mode: :cpu, aggregated_samples: [[[["o.rb", "Other#one", 1]], 7, 1, 0]], label_sets: [{}] }

  before(:context) { RperfPush.save("#{folder}/large.pb.gz", large) }

  # A page whose next threads for files begin with a script, which then opens the large one.
  define_method(:with_thread) do |script|
    browser.show(page({ "other.json" => other }))
    browser.run(<<~JS)
      (() => {
        const address = URL.createObjectURL;
        URL.createObjectURL = (blob) => address.call(URL, new Blob([#{JSON.generate("#{script};")}, blob], { type: blob.type }));
      })()
    JS
    browser.choose("#{folder}/large.pb.gz")
  end

  def busy = browser.run("document.querySelector('main').ariaBusy")
  def halves = { "A#m15_0" => 0.5, "A#m15_1" => 0.5 }

  it "is added up in another thread, again for each question, and shows the same" do
    url = page({ "large.pb.gz" => File.binread("#{folder}/large.pb.gz") })
    trees = -> { browser.run("performance.getEntriesByName('call tree').length") }
    browser.show(url)
    expect([trees.(), browser.boxes]).to match([1, include(shares(halves))])
    browser.show(url, value: "wall", tagfocus: "odd", view: "table")
    expected = RperfPush::Report.new(large, value: :wall).data[:frames].values.find { |frame| frame[:name] == "A#m15_0" }
    expect(browser.rows.find { |row| row[4] == "A#m15_0" }[2]).to eq(format("%.1f ms", expected[:total_samples] / 2e6))
    before = trees.()
    browser.press("1")
    browser.until_true("the graph") { browser.boxes.any? }
    expect(trees.()).to eq(before) # what is known is not asked again
  end

  it "has callers and callees added up there, too, once for each method" do
    url = page({ "large.pb.gz" => File.binread("#{folder}/large.pb.gz") })
    times = -> { browser.run("performance.getEntriesByName('callers').length") }
    graph = RperfPush::Graph.new(large, detailed: true)
    near = lambda do |name|
      function = graph.functions.find { |one| one.label == name }
      [graph.callers_of(function), graph.callees_of(function)].map { |list| list.map { |other, total| [format("%.1f ms", total / 1e6), other.label] } }
    end
    shown = -> { Array.new(2) { |at| browser.rows(".beside > :nth-child(#{at + 1})").map { |row| row.values_at(0, 2) } } }
    browser.show(url, view: "callers", method: '["A#m7_1","a.rb"]')
    expect(shown.().map(&:sort)).to eq(near.("A#m7_1").map(&:sort))
    expect([times.(), busy]).to eq([1, nil])
    browser.press("1", "3") # the same method again
    browser.until_true("the callers") { browser.text("h2") =~ /A#m7_1/ }
    expect(times.()).to eq(1)
    browser.run("[...document.querySelectorAll('.beside button.name')].find((one) => one.innerText === 'A#m8_0').click()")
    browser.until_true("another method") { browser.text("h2") =~ /A#m8_0/ }
    expect(shown.().map(&:sort)).to eq(near.("A#m8_0").map(&:sort))
    expect(times.()).to eq(2)
  end

  it "gives way to a file that is dropped while it is added up" do
    browser.show(page({ "other.json" => other }))
    # Nothing can answer between the page's wait and the drop.
    browser.run(<<~JS)
      new MutationObserver((_, observer) => {
        observer.disconnect();
        const dropped = new DataTransfer();
        dropped.items.add(new File(["Dropped#one 7\\n"], "dropped.collapsed"));
        document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: dropped }));
      }).observe(document.querySelector("main"), { attributeFilter: ["aria-busy"] })
    JS
    browser.choose("#{folder}/large.pb.gz")
    browser.until_true("the dropped file") { browser.boxes.key?("Dropped#one") }
    expect([busy, browser.text("h1"), browser.text(".problems")]).to eq([nil, "dropped.collapsed", ""])
  end

  it "is added up by the page where there is no memory for a copy" do
    with_thread("structuredClone = () => { throw new RangeError('no memory') }")
    browser.until_true("the large file") { browser.boxes.key?("A#m15_0") }
    expect([busy, browser.boxes]).to match([nil, include(shares(halves))])
    expect(browser.text(".problems")).to eq("Error: no room for a copy, so the page itself adds up: RangeError: no memory")
  end

  it "is added up by the page once the thread has failed, then and later" do
    with_thread("addEventListener('message', (event) => { if ('question' in event.data) { event.stopImmediatePropagation(); throw new Error('it is gone') } })")
    browser.until_true("the large file") { browser.boxes.key?("A#m15_0") }
    expect([busy, browser.text(".problems")]).to eq([nil, "Error: the thread for files failed: Uncaught Error: it is gone"])
    browser.press("2")
    browser.until_true("the table") { browser.rows.any? { |row| row[4] == "A#m15_1" } }
  end

  it "is added up by the page when the thread has failed before it is asked again" do
    with_thread(<<~JS)
      let asked = 0;
      addEventListener("message", (event) => {
        if (!("question" in event.data)) return;
        if (asked++ > 0) event.stopImmediatePropagation();
        else setTimeout(() => { throw new Error("it is gone") });
      })
    JS
    browser.until_true("the large file") { browser.boxes.key?("A#m15_0") }
    browser.run("Object.assign(document.querySelector('#focus'), { value: 'm15_1' }).dispatchEvent(new Event('change'))")
    browser.until_true("the filter") { browser.boxes["A#m15_1"] > 0.99 }
    expect(browser.text(".problems")).to eq("Error: the thread for files failed: Uncaught Error: it is gone")
  end

  it "that cannot be handed over is no file that is being read for ever" do
    with_thread("Int32Array.from = () => { throw new RangeError('no memory') }")
    browser.until_true("the end of it") { browser.text =~ /Nothing to show/ }
    expect(browser.text(".problems")).to eq("Error: the thread for files failed: Uncaught RangeError: no memory")
  end
end
