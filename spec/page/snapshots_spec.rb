# frozen_string_literal: true

require_relative "../support/profile_page"

# Time travel: a folder of snapshots, each of a commit, in the order of their commits.
RSpec.describe "The page of snapshots", :once do
  include ProfilePage

  # @param milliseconds [Hash{String => Integer}] of each method
  def self.snapshot(sha, day, milliseconds, recorded: day, seconds: 10, **git)
    { mode: :cpu, start_time_ns: 1_700_000_000_000_000_000 + (recorded * 86_400_000_000_000), duration_ns: seconds * 1_000_000_000, label_sets: [{ endpoint: "GET /" }],
      meta: { git: { sha:, subject: "Change #{sha[0]}", committed_at: "2026-01-#{format("%02d", day)}T12:00:00Z", dirty: false, **git } },
      aggregated_samples: milliseconds.map { |name, amount| [[["#{name}.rb", name, 1]], amount * 1_000_000, 1, 0] } }
  end

  # Names and recordings are in another order than the commits.
  folder = {
    "rperf-push-aaaaaaa-3.json.gz" => snapshot("a" * 40, 3, { "slow" => 30, "fast" => 10 }, recorded: 8),
    "rperf-push-bbbbbbb-1.json.gz" => snapshot("b" * 40, 1, { "slow" => 10, "fast" => 10 }, recorded: 9),
    "rperf-push-ccccccc-2.json.gz" => snapshot("c" * 40, 2, { "slow" => 10, "fast" => 40, "gone" => 10 }, seconds: 20, dirty: true)
  }

  define_method(:page) { super(folder) }

  def choices(label) = browser.run("[...#{list(label)}.options].map((one) => one.text)")
  def chosen(label) = browser.run("#{list(label)}.selectedOptions[0].text")
  def list(label) = "[...document.querySelectorAll('.steps label')].find((one) => one.innerText.startsWith(#{JSON.generate(label)})).querySelector('select')"
  def choose_from(label, index) = browser.run("(() => { const list = #{list(label)}; list.selectedIndex = #{index}; list.dispatchEvent(new Event('change')); list.blur() })()")

  it "shows them in the order of their commits, one after the other" do
    browser.show(page)
    expect(choices("Snapshot")).to match([/all 3 together/, /bbbbbbb Change b$/, /ccccccc \(changed\) Change c$/, /aaaaaaa Change a$/])
    expect(browser.boxes).to match(shares("all" => 1, "slow" => 50 / 120.0, "fast" => 60 / 120.0, "gone" => 10 / 120.0))

    browser.click("#step-on")
    expect(chosen("Snapshot")).to match(/bbbbbbb/)
    expect(browser.boxes).to match(shares("all" => 1, "slow" => 0.5, "fast" => 0.5))
    expect(browser.run("document.querySelector('#step-back').disabled")).to be(true)
    browser.press(".")
    browser.until_true("the next one") { browser.boxes.key?("gone") }
    expect(browser.boxes).to match(shares("all" => 1, "slow" => 1 / 6.0, "fast" => 4 / 6.0, "gone" => 1 / 6.0))
    browser.press(".", ".", ".")
    browser.until_true("the last one") { browser.run("document.querySelector('#step-on').disabled") }
    expect([browser.boxes, browser.address]).to match([shares("all" => 1, "slow" => 0.75, "fast" => 0.25), { "range" => "2-2" }])
    browser.press(",")
    browser.until_true("the one before") { browser.address == { "range" => "1-1" } }
  end

  it "compares any two, and goes on with the one before" do
    browser.show(page, view: "table", range: "1-1")
    choose_from("against", 1)
    expect(browser.address).to include("compare" => "range", "base" => "0-0", "target" => "1-1")
    browser.show(page, view: "table", compare: "range", base: "0-0", target: "1-1")
    changes = -> { browser.rows.to_h { |row| [row[6], row[1, 2]] } }
    expect(changes.()).to eq("slow" => ["10.0 ms", "10.0 ms"], "fast" => ["10.0 ms", "40.0 ms"], "gone" => ["0 ns", "10.0 ms"])
    browser.press(".")
    browser.until_true("the next two") { browser.address.values_at("base", "target") == %w[1-1 2-2] }
    expect(changes.()).to eq("slow" => ["10.0 ms", "30.0 ms"], "fast" => ["40.0 ms", "10.0 ms"], "gone" => ["10.0 ms", "0 ns"])

    choose_from("against", 1)
    expect(browser.address).to include("base" => "0-0", "target" => "2-2")
    expect(changes.()).to eq("slow" => ["10.0 ms", "30.0 ms"], "fast" => ["10.0 ms", "10.0 ms"])
    browser.press(",")
    browser.until_true("the one before, against the same") { browser.address.values_at("base", "target") == %w[0-0 1-1] }
    choose_from("against", 0)
    expect(browser.address.slice("compare", "base", "target", "range")).to eq("range" => "1-1")
  end

  it "lists what they come to, from where one is shown or compared" do
    browser.show(page, view: "timeline")
    expect(browser.rows("#snapshots").map { |row| row[0, 4] })
      .to eq([["1", "20.0 ms", "2.00 ms/s", ""], ["2", "60.0 ms", "3.00 ms/s", "+1.00 ms/s"], ["3", "40.0 ms", "4.00 ms/s", "+1.00 ms/s"]])
    browser.click("#snapshots tbody tr:nth-child(3) button[aria-label]")
    expect(browser.address).to eq("compare" => "range", "base" => "1-1", "target" => "2-2")
    browser.show(page, view: "timeline").click("#snapshots tbody tr:nth-child(2) button.name")
    expect(browser.address).to eq("range" => "1-1")
  end

  it "narrows what is said of labels and lines to the target" do
    state = { compare: "range", base: "0-0", target: "1-1" }
    browser.show(page, **state, view: "tags")
    expect(browser.rows("main .tags > :nth-child(1)")).to eq([["60.0 ms", "100.0 %", "GET /"]])
    browser.show(page, **state, view: "source", method: '["fast","fast.rb"]')
    expect(browser.rows.map { |row| row.take(3) }).to eq([["40.0 ms 66.7 %", "40.0 ms 66.7 %", "1"]])
  end
end
