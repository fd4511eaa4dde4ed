# frozen_string_literal: true

require "rperf_push/cli"
require_relative "../support/profile_page"

# What the page draws is what the file says, as the reports in Ruby read it.
RSpec.describe "The page", :once do
  include ProfilePage

  pow = ["a.rb", "A#pow", 12]
  main = ["main.rb", "<main>", 1]
  gem = ["rack/lib/rack.rb", "Rack#call", 3]
  c = ["<C method>", "Integer#*", 0]
  samples = [
    [[pow, gem, main], 60_000_000, 1, 0],
    [[c, pow, gem, main], 10_000_000, 1, 2],
    [[["b.rb", "B#new", 9], main], 20_000_000, 1, 1],
    [[["b.rb", "B#new", 8], main], 5_000_000, 2, 3],
    [[main], 5_000_000, 2, 2]
  ]
  sets = [{ endpoint: "GET /" }, { "%GVL": "blocked", endpoint: "POST /x" }, { "%GC": "mark", endpoint: "GET /" }, {}]
  data = { mode: :cpu, frequency: 1000, start_time_ns: 1_700_000_000_000_000_000, duration_ns: 10_000_000_000,
           values: { wall: [60_000_000, 20_000_000, 900_000_000, 15_000_000, 5_000_000] }, aggregated_samples: samples, label_sets: sets }

  define_method(:page) { |profiles = { "p.json.gz" => data }, **options| super(profiles, **options) }

  describe "as flame graph" do
    it "draws each call as wide as its share, in both directions" do
      expected = shares("all" => 1.0, "<main>" => 1.0, "Rack#call" => 0.7, "A#pow" => 0.7, "Integer#*" => 0.1, "B#new" => 0.25)
      expect(browser.show(page).boxes).to match(expected)
      top = "(name) => [...document.querySelectorAll('g.frame')].find((box) => box.getAttribute('name') === name).transform.baseVal[0].matrix.f"
      expect(browser.run("(#{top})('<main>') > (#{top})('A#pow')")).to be(true)
      expect(browser.show(page, icicle: 1).boxes).to match(expected)
      expect(browser.run("(#{top})('<main>') < (#{top})('A#pow')")).to be(true)
    end

    it "zooms by a click and by keys, and out again; the address says where one is" do
      browser.show(page)
      browser.run("document.querySelector('g.frame[name=\"Rack#call\"]').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
      browser.until_true("zoom") { browser.boxes["Integer#*"] > 0.14 }
      expect(browser.boxes).to match(shares("Rack#call" => 1.0, "A#pow" => 1.0, "Integer#*" => 1.0 / 7))
      expect(browser.run("new URLSearchParams(location.hash.slice(1)).getAll('zoom')")).to eq(["<main>", "Rack#call"])
      browser.run("document.querySelector('.flame').focus()")
      browser.press(:escape)
      browser.until_true("all of it") { browser.boxes.key?("B#new") }
      browser.press(:up, :up, :right, :enter)
      browser.until_true("zoom by keys") { browser.boxes["B#new"] > 0.99 }
    end

    it "shows every value of the file" do
      expect(browser.show(page, value: "wall").boxes).to match(shares("all" => 1, "<main>" => 1, "Rack#call" => 0.08, "A#pow" => 0.08, "Integer#*" => 0.02, "B#new" => 0.915))
    end

    it "marks what is searched for" do
      browser.show(page, search: "pow|new")
      expect(browser.text("#matched")).to eq("search: 95.0 ms, 95.0 %")
      browser.show(page, search: "pow")
      marked = browser.run("[...document.querySelectorAll('g.frame')].filter((box) => box.querySelector('rect').getAttribute('fill') !== 'var(--box-other)').map((box) => box.getAttribute('name'))")
      expect(marked).to eq(["A#pow"])
    end
  end

  describe "filters" do
    {
      { focus: "pow" } => { "all" => 70, "Integer#*" => 10, "A#pow" => 70 },
      { ignore: "pow" } => { "all" => 30, "B#new" => 25 },
      { tagfocus: "^GET" } => { "all" => 75, "A#pow" => 70 },
      { tagfocus: "blocked" } => { "all" => 20, "B#new" => 20 },
      { tagignore: '["endpoint",null]' } => { "all" => 95, "B#new" => 20 },
      { tagignore: '["endpoint","GET /"]' } => { "all" => 25, "B#new" => 25 },
      { only: '["thread_seq","2"]' } => { "all" => 10, "B#new" => 5 },
      { tagroot: "endpoint" } => { "all" => 100, "[endpoint: GET /]" => 75, "[endpoint: POST /x]" => 20, "[endpoint: (none)]" => 5 },
      { tagleaf: "%GVL" } => { "all" => 100, "[%GVL: blocked]" => 20, "[%GVL: (none)]" => 80 },
      { application: 1 } => { "all" => 100, "<main>" => 100, "A#pow" => 70, "B#new" => 25 },
      { group: "class" } => { "A" => 70, "B" => 25, "Rack" => 70, "Integer" => 10 },
      { group: "gem" } => { "rack" => 70, "(C)" => 10 },
      { group: "file" } => { "a.rb" => 70, "b.rb" => 25, "main.rb" => 100 }
    }.each do |state, amounts|
      it "#{state.keys.first} #{state.values.first}" do
        boxes = browser.show(page, state).boxes
        # Boxes are shares of what is left.
        whole = amounts["all"] || 100
        expect(boxes).to include(shares(amounts.transform_values { |amount| amount.fdiv(whole) }))
        expect(boxes).not_to include("Rack#call") if state.key?(:application)
      end
    end

    it "are set by hand: boxes to tick with (none), a text that is no regex is marked" do
      browser.show(page)
      browser.run("document.querySelectorAll('.menu-holder')[0].open = true")
      browser.until_true("the menu") { browser.run("document.querySelectorAll('.menu input').length") >= 7 }
      expect(browser.run("[...document.querySelectorAll('.menu legend')].map((key) => key.innerText)")).to eq(%w[%GC %GVL endpoint thread_seq])
      browser.run("[...document.querySelectorAll('.menu fieldset')[2].querySelectorAll('label')].find((label) => label.innerText.includes('(none)')).click()")
      expect(browser.address).to eq("tagignore" => '["endpoint",null]')
      expect(browser.boxes["B#new"]).to be_within(0.002).of(20 / 95.0)

      browser.run("Object.assign(document.querySelector('#focus'), { value: '(' }).dispatchEvent(new Event('change'))")
      expect(browser.run("document.querySelector('#focus').getAttribute('aria-invalid')")).to eq("true")
    end
  end

  it "has the tables that the report has, sorted by any column" do
    graph = RperfPush::Graph.new(data)
    expected = graph.functions.map { |one| [one.label, format("%.1f %%", graph.percent(one.self_ns)), format("%.1f %%", graph.percent(one.total_ns))] }
    browser.show(page, view: "table")
    expect(browser.rows.map { |row| row.values_at(4, 1, 3) }).to match_array(expected)
    expect(browser.rows.map { |row| row[4] }.first).to eq("A#pow")
    browser.click("[data-sort=name]")
    expect(browser.rows.map { |row| row[4] }).to eq(expected.map(&:first).sort)
    browser.click("[data-sort=name]")
    expect(browser.rows.map { |row| row[4] }).to eq(expected.map(&:first).sort.reverse)
    expect(browser.run("document.querySelector('[data-sort=name]').parentElement.ariaSort")).to eq("descending")
  end

  it "has callers and callees of a method" do
    graph = RperfPush::Graph.new(data, detailed: true)
    function = graph.functions.find { |one| one.label == "A#pow" }
    browser.show(page, view: "callers", method: '["A#pow","a.rb"]')
    callers, callees = [graph.callers_of(function), graph.callees_of(function)].map { |list| list.map { |other, total| ["#{total / 1_000_000}.0 ms", other.label] } }
    tables = Array.new(2) { |at| browser.rows(".beside > :nth-child(#{at + 1})").map { |row| row.values_at(0, 2) } }
    expect(tables).to eq([callers, [["60.0 ms", "(itself)"], *callees]])
    browser.click(".beside > :nth-child(2) [data-sort=name]")
    expect(browser.rows(".beside > :nth-child(2)").map(&:last)).to eq(["(itself)", "Integer#*"])
    expect(browser.boxes(0)).to match(shares("A#pow" => 1, "Rack#call" => 1, "<main>" => 1))
    expect(browser.boxes(1)).to match(shares("A#pow" => 1, "Integer#*" => 1.0 / 7))
  end

  it "has the call tree, with shares of all and of the parent, steered by keys" do
    browser.show(page, view: "tree")
    expect(browser.rows.map { |row| [row[4].sub(/\A[^\w<]+/, ""), *row.take(4)] }.take(4)).to eq(
      [["all", "0 ns", "100.0 ms", "100.0 %", "100.0 %"], ["<main>", "5.00 ms", "100.0 ms", "100.0 %", "100.0 %"],
       ["Rack#call", "0 ns", "70.0 ms", "70.0 %", "70.0 %"], ["A#pow", "60.0 ms", "70.0 ms", "70.0 %", "100.0 %"]].map { |row| row.map { |cell| cell.sub("100.0 ms", "100 ms") } }
    )
    browser.run("document.querySelector('main tr[tabindex=\"0\"]').focus()")
    browser.press(:down, :left)
    browser.until_true("it to close") { browser.rows.size == 2 }
    browser.press(:right)
    browser.until_true("it to open") { browser.rows.size == 4 }
    names = -> { browser.rows.map { |row| row[4].sub(/\A[^\w<]+/, "") } }
    browser.click("[data-sort=name]")
    expect(names.()).to eq(["all", "<main>", "B#new", "Rack#call"])
    browser.click("[data-sort=name]")
    expect(names.()).to eq(["all", "<main>", "Rack#call", "B#new"])
  end

  it "has what each label's values come to; a click focuses on one" do
    browser.show(page, view: "tags")
    sums = RperfPush::Values.sums(data) { |set| set[:endpoint] || "(none)" }
    expected = sums.sort_by { |name, sum| [-sum, name] }.map { |name, sum| [format("%.1f %%", sum / 1e6), name] }
    at = browser.run("[...document.querySelectorAll('main caption')].findIndex((one) => one.innerText === 'endpoint')")
    expect(browser.rows("main .tags > :nth-child(#{at + 1})").map { |row| row[1, 2] }).to eq(expected)
    browser.click("main .tags > :nth-child(#{at + 1}) [data-sort=value]")
    expect(browser.rows("main .tags > :nth-child(#{at + 1})").map { |row| row[2] }).to eq(expected.map(&:last).sort)
    tag = ->(name) { "[...document.querySelectorAll('main .tags > :nth-child(#{at + 1}) button.name')].find((one) => one.innerText === '#{name}').click()" }
    browser.run(tag.("GET /"))
    expect(browser.address).to eq("tagfocus" => "^GET \\/$")
    expect(browser.boxes["A#pow"]).to be_within(0.002).of(70 / 75.0)
    browser.show(page, view: "tags").run(tag.("(none)"))
    expect(browser.address).to eq("only" => '["endpoint",null]')
    expect(browser.boxes).to eq("all" => 1.0, "<main>" => 1.0, "B#new" => 1.0)
  end

  it "draws shares in tables as bars, too" do
    browser.show(page, view: "table")
    bars = browser.run("Object.fromEntries([...document.querySelectorAll('main tbody tr')].map((row) => [row.cells[4].innerText, [...row.querySelectorAll('.share')].map((cell) => getComputedStyle(cell).backgroundSize)]))")
    expect(bars).to include("A#pow" => ["60% 2px", "70% 2px"], "<main>" => ["5% 2px", "100% 2px"])
  end

  describe "as what threads did with their time" do
    line = ->(browser) { browser.run("[...document.querySelectorAll('#did li')].map((one) => one.innerText)") }

    it "tells CPU, GC and waiting apart, of all and of what the filters leave" do
      browser.show(page)
      expect(browser.text("#did")).to start_with("1.00 s of threads' time")
      expect(line.(browser)).to eq(["CPU 6.5 %", "CPU off the GVL 2.0 %", "GC 2.5 %", "core wait 1.0 %", "I/O, sleep, locks 88.0 %"])
      browser.show(page, tagfocus: "POST", view: "table")
      expect(line.(browser)).to eq(["CPU off the GVL 2.2 %", "I/O, sleep, locks 97.8 %"])
    end

    it "says it of each value of a label" do
      browser.show(page, view: "tags")
      said = browser.run("[...document.querySelectorAll('main .doing')].slice(0, 3).map((one) => one.getAttribute('aria-label'))")
      expect(said).to include("CPU 70.6 %, GC 29.4 %", "I/O, sleep, locks 97.8 %, CPU off the GVL 2.2 %")
    end

    it "says no more than it knows of a file without CPU time" do
      browser.show(page({ "wall.json.gz" => data.except(:values).merge(mode: :wall) }))
      expect(line.(browser)).to eq(["GC 15.0 %", "running 65.0 %", "off the GVL 20.0 %"])
    end

    it "says nothing of a file that does not tell" do
      expect(browser.show(page({ "cpu.json.gz" => data.except(:values) })).text("#did")).to eq("")
    end
  end

  it "shows the root of a graph that is higher than the window, in both directions" do
    deep = { mode: :cpu, aggregated_samples: [[Array.new(90) { |level| ["a.rb", "A#level_#{level}", 1] }, 1_000_000, 1, 0]], label_sets: [{}] }
    seen = "(name) => { const box = document.querySelector(`g.frame[name=\"${name}\"] rect`).getBoundingClientRect(), graph = document.querySelector('.flame').getBoundingClientRect(); " \
           "return box.top >= graph.top && box.bottom <= Math.min(graph.bottom, innerHeight) }"
    [{}, { icicle: 1 }].each do |state|
      browser.show(page({ "deep.json" => deep }), state)
      expect([browser.run("(#{seen})('all')"), browser.run("(#{seen})('A#level_0')")]).to eq([true, false])
    end
  end

  describe "with several windows" do
    later = data.merge(start_time_ns: data[:start_time_ns] + 10_000_000_000, values: { wall: [1, 2] },
                       aggregated_samples: [[[pow, main], 40_000_000, 1, 0], [[["b.rb", "B#new", 9], main], 60_000_000, 1, 1]])

    it "draws them as a heat map, of which a range becomes the profile" do
      url = page({ "1.pb.gz" => data, "2.json" => later })
      browser.show(url, view: "timeline", rows: "endpoint")
      cells = browser.run("[...document.querySelectorAll('main tbody tr')].map((row) => [row.cells[0].innerText, ...[...row.querySelectorAll('td')].map((cell) => cell.title.split(': ').pop())])")
      expect(cells).to eq([["GET /", "7.50 ms/s (75.0 ms in 10.0 s)", "4.00 ms/s (40.0 ms in 10.0 s)"], ["POST /x", "2.00 ms/s (20.0 ms in 10.0 s)", "6.00 ms/s (60.0 ms in 10.0 s)"],
                           ["(none)", "500 µs/s (5.00 ms in 10.0 s)", "0 ns/s (0 ns in 10.0 s)"]])
      browser.run(<<~JS)
        ["pointerdown", "pointerup"].forEach((kind) => document.querySelectorAll("th.tick")[1].dispatchEvent(new PointerEvent(kind, { bubbles: true })))
      JS
      expect(browser.address).to include("range" => "1-1")
      expect(browser.show(url, range: "1-1").boxes).to match(shares("all" => 1, "<main>" => 1, "A#pow" => 0.4, "B#new" => 0.6))
      browser.show(url, view: "timeline")
      browser.run("document.querySelector('th.tick button').focus()")
      browser.press([:shift, :right], :enter)
      browser.until_true("a range by keys") { browser.address["range"] == "0-1" }
    end

    it "chooses no range when the drag is cancelled, as on a phone that scrolls, or was another button's" do
      browser.show(page({ "1.json" => data, "2.json" => later }), view: "timeline", range: "0-0")
      tell = lambda do |kind, **more|
        browser.run("document.querySelectorAll('th.tick')[1].dispatchEvent(new PointerEvent('#{kind}', #{JSON.generate({ bubbles: true, **more })}))")
      end
      %w[pointerdown pointercancel pointerup].each { |kind| tell.(kind) }
      %w[pointerdown pointerup].each { |kind| tell.(kind, button: 2) }
      expect(browser.address).to include("range" => "0-0")
      expect(browser.run("[...document.querySelectorAll('th.tick')].map((head) => head.ariaSelected)")).to eq(%w[true false])
    end

    it "compares files as the diff does: red has grown, blue has shrunk" do
      difference = RperfPush::Difference.new(data, later)
      expected = difference.rows.map { |row| [row.label, row.base.fdiv(1e6).round, row.target.fdiv(1e6).round] }
      sides = { "1.json" => "base", "2.json" => "target" }
      browser.show(url = page({ "1.json" => data, "2.json" => later }, sides:, state: "compare=side"), "view=table&compare=side")
      expect(browser.rows.map { |row| [row[6], row[1].to_f.round, row[2].to_f.round] }).to match_array(expected)
      expect(browser.rows.first.values_at(0, 6)).to eq(["+35.0 ms (+35.0 %)", "B#new"])
      browser.show(url)
      fills = browser.run("Object.fromEntries([...document.querySelectorAll('g.frame')].map((box) => [box.getAttribute('name'), box.querySelector('rect').getAttribute('fill')]))")
      expect(fills).to include("B#new" => match(/--box-grown/), "Rack#call" => match(/--box-shrunk/), "all" => "var(--box-same)")
    end

    it "compares two values of a label, in amounts or by shares" do
      state = { view: "table", compare: "label", key: "endpoint", base: "GET /", target: "POST /x" }
      one = page
      scaled = browser.show(one, state.merge(relative: 1)).rows.to_h { |row| [row[6], row[1, 2]] }
      expect(scaled).to include("A#pow" => ["16.0 ms", "0 ns"], "B#new" => ["0 ns", "20.0 ms"])
      expect(browser.show(one, state).rows.to_h { |row| [row[6], row[1, 2]] }).to include("A#pow" => ["60.0 ms", "0 ns"])
    end
  end

  it "keeps nothing of a profile when another one is opened" do
    File.binwrite("#{folder}/next.json", JSON.generate(data))
    browser.show(page).run(<<~JS)
      (() => {
        window.map = new WeakRef(document.querySelector(".minimap"));
        window.menu = new WeakRef(document.querySelector(".menu-holder"));
      })()
    JS
    browser.click("[data-view=table]")
    browser.choose("#{folder}/next.json")
    browser.until_true("the other one") { browser.text("h1") == "next.json" && browser.rows.any? }
    browser.until_true("the first one to be garbage") do
      browser.collect_garbage
      browser.run("[window.map, window.menu].every((one) => one.deref() === undefined)")
    end
    browser.click(".menu-holder summary")
    browser.until_true("the menu") { browser.run("document.querySelector('.menu-holder').open") }
    browser.run("document.querySelector('h1').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))")
    expect(browser.run("document.querySelector('.menu-holder').open")).to be(false)
  end

  it "has lists for a comparison that is chosen by keys, and leaves the focus where it is" do
    browser.show(page).run("document.querySelector('.rest select[name=Compare]').focus()")
    browser.press("l") # label values
    browser.until_true("the comparison") { browser.address["compare"] == "label" }
    expect(browser.run("[...document.querySelectorAll('.rest select')].map((list) => list.name)")).to eq(%w[Value By Compare of base target])
    expect(browser.run("document.activeElement.name")).to eq("Compare")
  end

  it "has the lines of a method, with their source where it is at hand" do
    graph = RperfPush::Graph.new(data, detailed: true)
    function = graph.functions.find { |one| one.label == "B#new" }
    expected = graph.lines_of(function).map { |line| [format("%.1f %%", line.self_ns / 1e6), format("%.1f %%", line.total_ns / 1e6), line.number.to_s] }
    browser.show(page, view: "source", method: '["B#new","b.rb"]')
    expect(browser.rows.map { |row| [row[0][/\S+ %/], row[1][/\S+ %/], row[2]] }).to eq(expected)
    expect(browser.text(".status")).to match(/not at hand/)
  end

  describe "files of any kind" do
    rperf = JSON.generate(mode: "cpu", frequency: 100, label_sets: sets, aggregated_samples: samples.map { |stack, *rest| [stack.map { |frame| frame.take(2) }, *rest] })
    { "p.pb.gz" => data, "p.json" => data, "rperf.json" => rperf, "p.collapsed" => data }.each do |name, content|
      it "reads #{name}" do
        boxes = browser.show(page({ name => content })).boxes
        expect(boxes).to match(shares("all" => 1.0, "<main>" => 1.0, "Rack#call" => 0.7, "A#pow" => 0.7, "Integer#*" => 0.1, "B#new" => 0.25))
      end
    end

    # What a collapsed file counts, and how much the page says it is in all.
    { "main;work 700000\nmain 299999\n" => %w[samples 999,999], "# alloc_objects count\nmain;work 1500000\n" => %w[alloc_objects 1,500,000],
      "main;work 1500000\n" => ["wall", "1.50 ms"] }.each do |content, (value, sum)|
      it "reads #{value} in a collapsed file" do
        browser.show(page({ "c.collapsed" => content }), view: "table")
        expect(browser.rows.find { |row| row[4] == "main" }[2]).to eq(sum)
        expect(browser.run("document.querySelector('select[name=Value]')?.value ?? ''")).to eq("").or eq(value)
      end
    end

    it "reads stacks that share some of their callers with those before, and locations with numbers of one to three bytes" do
      random = Random.new(7)
      stack = []
      many = Array.new(500) do
        stack = stack.take(random.rand(0..stack.size))
        stack << ["m.rb", "M#m#{random.rand(25_000)}", 1] while stack.size < 60
        [stack.reverse, random.rand(1..1000) * 1_000_000, 1, 0]
      end
      deep = { mode: :cpu, aggregated_samples: many, label_sets: [{}] }
      expected = RperfPush::Graph.new(deep).functions.sort_by { |one| [-one.total_ns, one.label] }.first(40)
      shown = browser.show(page({ "deep.pb" => deep }), view: "table", sort: "total").rows.to_h { |row| [row[4], row[3]] }
      expect(shown.slice(*expected.map(&:label))).to eq(expected.to_h { |one| [one.label, format("%.1f %%", one.total_ns * 100.0 / many.sum { |sample| sample[1] })] })
    end

    it "says what it cannot read, and shows the rest" do
      browser.show(page({ "good.json" => data, "bad.json" => "{\"mode\":", "cut.pb" => RperfPush::Formats.encode(data, "x.pb").byteslice(0, 200) }))
      expect(browser.text(".problems")).to match(/^bad.json: /).and match(/^cut.pb: not a whole gzip file$/)
      expect(browser.boxes["A#pow"]).to be_within(0.002).of(0.7)
    end

    other = { mode: :cpu, aggregated_samples: [[[["o.rb", "Other#one", 1]], 7, 1, 0]], label_sets: [{}] }
    { "o.pb.gz" => other, "o.pb" => other, "o.json" => other, "o.collapsed" => other, "rperf.json" => JSON.generate(other) }.each do |name, content|
      it "opens #{name} that is dropped on the page" do
        bytes = content.is_a?(Hash) ? RperfPush::Formats.encode(content, name) : content
        browser.show(page, range: "0-0", focus: "pow").run(<<~JS)
          (() => {
            const dropped = new DataTransfer();
            dropped.items.add(new File([Uint8Array.from(atob("#{[bytes].pack("m0")}"), (letter) => letter.charCodeAt(0))], "#{name}"));
            for (const kind of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: dropped }));
          })()
        JS
        browser.until_true("the other file") { browser.boxes == { "all" => 1.0, "Other#one" => 1.0 } }
        expect([browser.text("h1"), browser.address]).to eq([name, {}])
      end
    end

    it "opens one that is chosen in the page" do
      RperfPush.save("#{folder}/other.pb.gz", data.merge(values: nil, aggregated_samples: [[[["o.rb", "Other#one", 1]], 7, 1, 0]]))
      browser.show(page).choose("#{folder}/other.pb.gz")
      browser.until_true("the other file") { browser.boxes.key?("Other#one") }
      expect(browser.text("h1")).to eq("other.pb.gz")
    end
  end

  it "runs nothing that stands in a name, and asks nobody for anything" do
    evil = "</script><script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\"><!--"
    hostile = { mode: :cpu, aggregated_samples: [[[["#{evil}.rb", evil, 1]], 1_000_000, 1, 0]], label_sets: [{ evil.to_sym => evil }] }
    url = page({ "#{evil.delete("/")}.json" => hostile })
    %w[flame table callers tree tags timeline source].each do |view|
      browser.show(url, view:, tagroot: evil)
      expect(browser.run("document.title")).to eq("page – rperf-push")
      expect(browser.run("document.querySelectorAll('main img, main script').length")).to eq(0)
    end
    expect(browser.show(url).boxes).to include(evil)
    expect(browser.requests).to all(start_with("file:").or(start_with("data:")).or(start_with("about:")).or(start_with("blob:")))
  end

  it "goes by keys from view to view, and into the dark" do
    browser.show(page).press("2")
    browser.until_true("the table") { browser.address["view"] == "table" }
    browser.press("d", "1", "i", "/")
    browser.until_true("the search") { browser.run("document.activeElement.id") == "search" }
    expect(browser.address).to eq("theme" => "dark", "icicle" => "1")
    expect(browser.run("getComputedStyle(document.documentElement).colorScheme")).to eq("dark")
  end
end
