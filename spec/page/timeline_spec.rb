# frozen_string_literal: true

require_relative "../support/profile_page"

# Many windows: names that can be read, rates that can be compared, and a scale that says what they are.
RSpec.describe "The page's timeline", :once do
  include ProfilePage

  # @param milliseconds [Hash{String, nil => Integer}] by endpoint; nil: without one
  def self.window(start, milliseconds, seconds: 10, **more)
    sets = milliseconds.keys.map { |endpoint| { endpoint: }.compact }
    { mode: :cpu, start_time_ns: (1_700_000_000 + start) * 1_000_000_000, duration_ns: seconds * 1_000_000_000, label_sets: sets,
      aggregated_samples: milliseconds.values.map.with_index { |amount, at| [[["a.rb", "A#a", 1]], amount * 1_000_000, 1, at] }, **more }
  end

  endpoints = { "ProductsController#index" => 400, "ProductsController#show" => 100 }
  sixty = Array.new(60) { |at| ["#{at}.json", window(at * 10, { **endpoints, nil => 40_000 })] }.to_h

  def cells = browser.run("Object.fromEntries([...document.querySelectorAll('.timeline tbody tr')].map((row) => [row.cells[0].innerText, [...row.querySelectorAll('td')].map((cell) => cell.innerText)]))")
  def heats = browser.run("Object.fromEntries([...document.querySelectorAll('.timeline tbody tr')].map((row) => [row.cells[0].innerText, row.querySelector('td').style.getPropertyValue('--heat')]))")

  it "has room for the names of its rows, however many windows there are" do
    browser.show(page(sixty), view: "timeline")
    widths = browser.run("[...document.querySelectorAll('.timeline tbody th')].map((name) => [name.clientWidth, name.scrollWidth])")
    expect(widths).to all(satisfy { |width, needed| width >= needed && width > 150 })
    expect(browser.run("document.querySelectorAll('th.tick').length")).to eq(60)
  end

  it "gives samples without the label a scale of their own, and says what each is" do
    browser.show(page(sixty), view: "timeline")
    expect(heats).to eq("ProductsController#index" => "100%", "ProductsController#show" => "25%", "(none)" => "100%")
    expect(browser.text("#heat").squeeze(" ").split(/\s*\n\s*/)).to eq(["0 40.0 ms/s", "(none): 0 4.00 s/s"])
    fills = browser.run("[...document.querySelectorAll('.timeline tbody tr')].map((row) => getComputedStyle(row.querySelector('td')).backgroundColor)")
    expect(fills.uniq.size).to eq(3)
    browser.show(page(sixty), view: "timeline", rows: "-")
    expect(browser.text("#heat").squeeze(" ").strip).to eq("0 4.05 s/s")
  end

  it "shows rates: windows of different lengths with the same load look the same, as do processes side by side" do
    files = { "short.json" => self.class.window(0, { "one" => 200 }), "long.json" => self.class.window(10, { "one" => 400 }, seconds: 20) }
    browser.show(page(files), view: "timeline")
    expect(cells["one"]).to eq(["20.0 ms/s", "20.0 ms/s"])
    beside = { "1.json" => self.class.window(0, { "one" => 100 }), "2.json" => self.class.window(0, { "one" => 100 }), "3.json" => self.class.window(10, { "one" => 200 }) }
    browser.show(page(beside), view: "timeline")
    expect(cells["one"]).to eq(["20.0 ms/s", "20.0 ms/s"])
  end

  it "shows amounts where no time is known, and of what is a level" do
    browser.show(page({ "1.json" => self.class.window(0, endpoints, seconds: 0), "2.json" => self.class.window(90_000, endpoints) }), view: "timeline")
    expect(cells.transform_values(&:first)).to eq("ProductsController#index" => "400 ms", "ProductsController#show" => "100 ms")
    level = self.class.window(0, { "one" => 1 }, values: { inuse_objects: [70] }, units: { inuse_objects: "count" })
    browser.show(page({ "level.json" => level }), view: "timeline", value: "inuse_objects")
    expect(cells).to eq("one" => ["70"])
  end
end
