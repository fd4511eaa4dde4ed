# frozen_string_literal: true

require_relative "../support/pprof_builder"
require_relative "../support/profile_page"

# What says where one is: the small graph of all, the axis of time, and the line about the files.
RSpec.describe "The page's overview", :once do
  include ProfilePage

  main = ["main.rb", "<main>", 1]
  pow = ["a.rb", "A#pow", 12]
  gem = ["rack/lib/rack.rb", "Rack#call", 3]
  c = ["<C method>", "Integer#*", 0]
  start = 1_700_000_000
  data = {
    mode: :cpu, frequency: 1000, start_time_ns: start * 1_000_000_000, duration_ns: 10_000_000_000, sampling_count: 100, detected_thread_count: 2,
    user_ns: 80_000_000, sys_ns: 20_000_000, maxrss_mb: 64, label_sets: [{}],
    aggregated_samples: [[[pow, gem, main], 60_000_000, 1, 0], [[c, pow, gem, main], 10_000_000, 1, 0], [[["b.rb", "B#new", 9], main], 25_000_000, 1, 0], [[main], 5_000_000, 2, 0]]
  }
  later = data.merge(start_time_ns: data[:start_time_ns] + 10_000_000_000, meta: { hostname: "other", pid: 42, command: "ruby work.rb" })

  define_method(:page) { |profiles = { "p.json" => data }, **options| super(profiles, **options) }

  describe "has a small graph of all" do
    # @return [Hash{Integer => Array}] [from, to] of each level's boxes, as shares
    def drawn
      paths = browser.run("[...document.querySelectorAll('.minimap path')].map((path) => path.getAttribute('d')).join('')")
      width = browser.run("Number(document.querySelector('.minimap svg').getAttribute('viewBox').split(' ')[2])")
      boxes = paths.scan(/M([\d.]+) (\d+)H([\d.]+)v1H[\d.]+z/).map { |from, level, to| [level.to_i, [from, to].map { |place| (place.to_f / width).round(3) }] }
      boxes.sort.group_by(&:first).transform_values { |list| list.map(&:last) }
    end

    # @return [Array<Float>] shares: from and to, from the left, then from above
    def seen = browser.run("(({ style }) => [style.left, style.width, style.top, style.height])(document.querySelector('.minimap .seen'))").map { |text| (text.to_f / 100).round(3) }

    # From one place of the map to another, in shares.
    def drag(from, to, on: ".minimap")
      browser.run(<<~JS)
        (() => {
          const place = document.querySelector(".minimap").getBoundingClientRect();
          const at = ([across, down]) => ({ bubbles: true, clientX: place.left + across * place.width, clientY: place.top + down * place.height });
          document.querySelector("#{on}").dispatchEvent(new PointerEvent("pointerdown", at(#{from})));
          for (const kind of ["pointermove", "pointerup"]) dispatchEvent(new PointerEvent(kind, at(#{to})));
        })()
      JS
    end

    it "in which each call is where it is in the graph, and the part that is seen has a frame" do
      browser.show(page)
      expect(drawn).to eq(0 => [[0, 1]], 1 => [[0, 1]], 2 => [[0, 0.7], [0.7, 0.95]], 3 => [[0, 0.7]], 4 => [[0, 0.1]])
      expect(seen).to eq([0, 1, 0, 1])
      browser.show(page, [["zoom", "<main>"], ["zoom", "B#new"]].then { |pairs| URI.encode_www_form(pairs) })
      expect(seen).to eq([0.7, 0.25, 0, 0.6])
      expect(browser.run("document.querySelector('.minimap').ariaValueText")).to eq("70.0 % to 95.0 % of the width")
    end

    it "whose frame is dragged, or drawn anew beside it; the graph shows that part, and the address says which" do
      browser.show(page)
      drag([0.5, 0.5], [1, 0.5])
      expect(browser.address).to eq("span" => "0.5-1")
      expect(browser.boxes).to match(shares("all" => 1, "<main>" => 1, "Rack#call" => 0.4, "A#pow" => 0.4, "B#new" => 0.5))
      drag([0.75, 0.5], [0.35, 0.5], on: ".minimap .seen")
      expect([browser.address, seen.take(2)]).to eq([{ "span" => "0.1-0.6" }, [0.1, 0.5]])
      expect(browser.boxes).to match(shares("all" => 1, "<main>" => 1, "Rack#call" => 1, "A#pow" => 1))
      drag([0.9, 0.5], [0.9, 0.5]) # a click: its middle goes there, as far as there is room
      expect(browser.address).to eq("span" => "0.5-1")
      browser.run("document.querySelector('g.frame[name=\"B#new\"]').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
      browser.until_true("the zoom") { browser.address == { "zoom" => "B#new" } }
      expect(seen.take(2)).to eq([0.7, 0.25])
    end

    it "that keys steer" do
      browser.show(page).run("document.querySelector('.minimap').focus()")
      browser.press("+")
      browser.until_true("half of it") { browser.address["span"] == "0.25-0.75" }
      browser.press(:right)
      browser.until_true("a step") { browser.address["span"] == "0.3-0.8" }
      expect(browser.boxes).to match(shares("all" => 1, "<main>" => 1, "Rack#call" => 0.8, "A#pow" => 0.8, "B#new" => 0.2))
      browser.press(:end)
      browser.until_true("the end") { browser.address["span"] == "0.5-1" }
      browser.press("-")
      browser.until_true("all of it") { browser.address == {} }
      expect(browser.run("document.activeElement.className")).to eq("minimap")
    end

    it "that is all in sight again when the tree becomes another one" do
      labelled = data.merge(label_sets: [{ endpoint: "GET /" }])
      url = page({ "1.json" => labelled, "2.json" => later })
      ticks = lambda do |name|
        browser.run("(() => { document.querySelectorAll('.menu-holder').forEach((one) => (one.open = true)) })()")
        browser.until_true("the box") { browser.run("!!document.querySelector('input[name=\"#{name}\"]')") }
        browser.click("input[name=\"#{name}\"]")
      end
      chooses = lambda do |name, value|
        browser.run("(() => { const list = document.querySelector('select[name=\"#{name}\"]'); list.value = #{JSON.generate(value)}; list.dispatchEvent(new Event('change')) })()")
      end
      types = lambda do |name, text|
        browser.run("(() => { const box = document.querySelector('##{name}'); box.value = #{JSON.generate(text)}; box.dispatchEvent(new Event('change')) })()")
      end
      { "group" => -> { chooses.("By", "file") }, "application" => -> { ticks.("application only") }, "tagroot" => -> { ticks.("endpoint") },
        "focus" => -> { types.("focus", "pow") }, "compare" => -> { chooses.("Compare", "range") } }.each do |name, change|
        browser.show(url, span: "0.2-0.3")
        change.()
        browser.until_true("#{name} to change") { browser.address.key?(name) }
        expect(browser.address).not_to have_key("span")
        expect([name, seen]).to eq([name, [0, 1, 0, 1]])
      end
      browser.show(url, view: "timeline", span: "0.2-0.3")
      browser.run("document.querySelector('th.tick button').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))")
      expect(browser.address).to eq("view" => "timeline", "range" => "0-0")
      browser.show(url, span: "0.2-0.3")
      types.("search", "pow") # what is marked is in sight still
      expect(browser.address).to eq("span" => "0.2-0.3", "search" => "pow")
    end

    it "that leaves the browser its own keys, as the other parts do" do
      # @return [Boolean] whether the page took the key
      takes = lambda do |selector, key, modifiers|
        browser.run("!document.querySelector(#{JSON.generate(selector)}).dispatchEvent(new KeyboardEvent('keydown', #{JSON.generate({ key:, bubbles: true, cancelable: true, **modifiers })}))")
      end
      shortcuts = [["+", { ctrlKey: true }], ["-", { metaKey: true }], ["ArrowLeft", { altKey: true }]]
      parts = { "flame" => %w[.minimap .flame], "tree" => ["table.calls tbody tr"], "timeline" => ["th.tick button"] }
      parts.each do |view, selectors|
        browser.show(page, view:)
        selectors.each do |selector|
          expect([selector, shortcuts.map { |key, held| takes.(selector, key, held) }]).to eq([selector, [false, false, false]])
          expect([selector, takes.(selector, "ArrowLeft", {})]).to eq([selector, true])
        end
      end
      browser.show(page, span: "0.2-0.6")
      shortcuts.each { |key, held| takes.(".minimap", key, held) }
      expect(browser.address).to eq("span" => "0.2-0.6")
    end

    it "that says what is seen of a graph that is higher than the window, and scrolls it" do
      deep = { mode: :cpu, aggregated_samples: [[Array.new(90) { |level| ["a.rb", "A#level_#{level}", 1] }, 1_000_000, 1, 0]], label_sets: [{}] }
      browser.show(page({ "deep.json" => deep }), icicle: 1)
      high = browser.run("document.querySelector('.flame').clientHeight") / 18.0 / 91
      expect(seen).to match([0, 1, 0, be_within(0.002).of(high)])
      drag([0.5, 0.1], [0.5, 0.6], on: ".minimap .seen")
      browser.until_true("it to scroll") { browser.run("document.querySelector('.flame').scrollTop") > 0 }
      expect(browser.run("document.querySelector('.flame').scrollTop")).to be_within(2).of(0.5 * 91 * 18)
      browser.until_true("the frame to follow") { (seen[2] - 0.5).abs < 0.003 }
    end

    it "of which an address may say anything" do
      %w[1-0 0.5-0.5 a-b -1-2 0-9 0.1 ..-..].each { |span| expect([span, browser.show(page, span:).boxes["Rack#call"]]).to match([span, be_within(0.002).of(0.7)]) }
    end
  end

  describe "has an axis of time" do
    def marks = browser.run("[...document.querySelectorAll('.timeline .axis span')].map((mark) => [mark.innerText, parseFloat(mark.style.left) / 100])")

    it "with round times where they are" do
      browser.show(page({ "1.json" => data, "2.json" => later }), view: "timeline")
      expect(marks).to match(Array.new(10) { |at| [Time.at(start + (at * 2)).strftime("%H:%M:%S"), be_within(0.001).of(at / 10.0)] })
      middle = browser.run("(([first, second]) => second.getBoundingClientRect().left - first.getBoundingClientRect().left)(document.querySelectorAll('th.tick'))")
      expect(browser.run("((all) => all[5].getBoundingClientRect().left - all[0].getBoundingClientRect().left)(document.querySelectorAll('.axis span'))")).to be_within(2).of(middle)
      expect(browser.text(".status")).to eq("2 windows (20.0 s)")
    end

    it "of days and of milliseconds, but none of snapshots" do
      days = Array.new(4) { |day| ["#{day}.json", data.merge(start_time_ns: (start + (day * 86_400)) * 1_000_000_000, duration_ns: 86_400_000_000_000)] }.to_h
      browser.show(page(days), view: "timeline")
      midnights = (1..4).map { |day| Time.at(start + (day * 86_400)) }.map { |time| Time.local(time.year, time.month, time.day) }
      expect(marks.select { |text, _| text.match?(/\A\d{4}-\d\d-\d\d\z/) }.last(4))
        .to match(midnights.map { |time| [time.strftime("%Y-%m-%d"), be_within(0.001).of((time.to_f - start) / (4 * 86_400))] })
      browser.show(page({ "short.json" => data.merge(duration_ns: 10_000_000) }), view: "timeline")
      expect(marks.take(2)).to match([[Time.at(start).strftime("%H:%M:00").sub(/00\z/, "#{format("%02d", start % 60)}.000"), 0], [end_with(".001"), be_within(0.001).of(0.1)]])
      browser.show(page({ "1.json" => data, "9.json" => data.merge(start_time_ns: (start + 900_000) * 1_000_000_000) }), view: "timeline")
      expect([marks, browser.run("document.querySelectorAll('th.tick').length")]).to eq([[], 2])
    end
  end

  describe "says what the files say of themselves" do
    def said = browser.run("Object.fromEntries([...document.querySelectorAll('#about dl > div')].map((one) => [one.querySelector('dt').innerText, one.querySelector('dd').innerText]))")

    common = { "Ruby" => RUBY_VERSION, "mode" => "cpu", "frequency" => "1,000 Hz", "by" => "rperf-push #{RperfPush::VERSION}", "began" => Time.at(start).strftime("%F %T") }

    it "of JSON" do
      browser.show(page)
      expect(said).to eq(common.merge("host" => Socket.gethostname, "samples" => "100", "threads" => "2", "CPU time" => "100 ms", "memory" => "64.0 MiB", "duration" => "10.0 s"))
    end

    it "of several files, or of those that are shown, together" do
      files = { "1.json" => data, "2.json" => later }
      browser.show(page(files))
      expect(said).to eq(common.merge("host" => "#{Socket.gethostname}, other", "process" => "42", "command" => "ruby work.rb", "samples" => "200", "threads" => "2",
                                      "CPU time" => "200 ms", "memory" => "64.0 MiB", "duration" => "20.0 s"))
      browser.show(page(files), range: "1-1")
      expect(said).to include("host" => "other", "samples" => "100", "duration" => "10.0 s")
    end

    it "of pprof, ours and that of others" do
      browser.show(page({ "p.pb.gz" => data }))
      expect(said).to eq(common.merge("samples" => "100", "threads" => "2", "duration" => "10.0 s"))
      other = PprofBuilder.new(time_nanos: start * 1_000_000_000).sample(["main"], [1, 1])
      other.message.comment << other.string("of a <b>kind</b>")
      browser.show(page({ "other.pb.gz" => other.gzip }))
      expect(said).to eq("program" => "app.rb", "frequency" => "99 Hz", "comment" => "of a <b>kind</b>", "began" => common["began"], "duration" => "1.00 s")
    end

    it "nothing of a file that says nothing, nor what is no text and no number" do
      browser.show(page({ "p.collapsed" => data }))
      expect(said).to eq({})
      odd = { mode: :cpu, frequency: "often", sampling_count: {}, maxrss_mb: "much", meta: { ruby_version: ["3"], hostname: 5, labels: [1], git: 3 }, label_sets: [{}], aggregated_samples: [[[main], 1, 1, 0]] }
      browser.show(page({ "odd.json" => JSON.generate(odd) }))
      expect(said).to eq("mode" => "cpu")
    end
  end
end
