# frozen_string_literal: true

require_relative "../support/profile_page"

# A deep stack, as of a Rails application: what one clicks on is in sight, with its own amounts.
RSpec.describe "The page's flame graph that is zoomed", :once do
  include ProfilePage

  callers = ["<main>"] + Array.new(30) { |level| "Rack#call_#{level}" }
  stack = ->(*inner) { [*callers, *inner].reverse.map { |name| ["#{name[/\w+/]}.rb", name, 1] } }
  data = { mode: :cpu, label_sets: [{}], aggregated_samples: [
    [stack.("Products#show", *Array.new(40) { |level| "Price#of_#{level}" }), 200_000_000, 1, 0], [stack.("Products#show"), 50_000_000, 1, 0],
    [stack.("Products#index"), 750_000_000, 1, 0]
  ] }
  show = [*callers, "Products#show"]

  define_method(:page) { super({ "deep.json" => data }) }

  def box(name) = "document.querySelector('g.frame[name=#{JSON.generate(name)}]')"
  def click_on(name) = browser.run("#{box(name)}.dispatchEvent(new MouseEvent('click', { bubbles: true }))")
  def crumbs = browser.run("[...document.querySelectorAll('.breadcrumb li > *')].map((one) => one.innerText)")
  def zoomed_to = browser.run("new URLSearchParams(location.hash.slice(1)).getAll('zoom')").last

  # @return [Array<Boolean>] whether all of it is in the window and in the graph; whether it is at the graph's edge
  def place_of(name, edge)
    browser.run(<<~JS)
      (() => {
        const [one, graph] = [#{box(name)}.querySelector("rect"), document.querySelector(".flame")].map((element) => element.getBoundingClientRect());
        return [one.top >= Math.max(graph.top, 0) && one.bottom <= Math.min(graph.bottom, document.querySelector(".status").getBoundingClientRect().top),
          Math.abs(one.#{edge} - graph.#{edge}) < 2];
      })()
    JS
  end

  { "flame" => [{}, "bottom"], "icicle" => [{ icicle: 1 }, "top"] }.each do |kind, (state, edge)|
    it "has the box that was clicked on at its edge, as #{kind}, with its callers above the graph" do
      browser.show(page, state)
      click_on("Products#show")
      browser.until_true("the zoom") { zoomed_to == "Products#show" }
      expect(place_of("Products#show", edge)).to eq([true, true])
      expect(browser.boxes.keys.grep_v(/Price/)).to eq(["Products#show"])
      expect(crumbs).to match(["all", /\A29 callers/, "Rack#call_28", "Rack#call_29", "Products#show"])
      expect(browser.text(".status")).to start_with("Products#show: 250 ms, 25.0 %; self 50.0 ms")
    end
  end

  it "goes out to any caller, and says of it what it said of the box" do
    browser.show(page, URI.encode_www_form(show.map { |name| ["zoom", name] }))
    browser.click(".breadcrumb summary")
    browser.until_true("the callers") { browser.run("document.querySelectorAll('.breadcrumb .menu button').length") == 29 }
    browser.click(".breadcrumb .menu button:nth-child(3)")
    browser.until_true("the caller") { zoomed_to == "Rack#call_1" }
    expect(browser.text(".status")).to start_with("Rack#call_1: 1.00 s, 100.0 %; self 0 ns")
    browser.click(".breadcrumb li button")
    browser.until_true("all of it") { zoomed_to.nil? }
    expect(browser.boxes).to include("all" => 1.0)
    expect(browser.run("document.querySelector('.breadcrumb')")).to be_nil
  end

  it "says again what is shown when the pointer leaves it" do
    browser.show(page, URI.encode_www_form(show.map { |name| ["zoom", name] }))
    browser.run("#{box("Price#of_0")}.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))")
    browser.until_true("what is under the pointer") { browser.text(".status").start_with?("Price#of_0: 200 ms, 20.0 %") }
    browser.run("document.querySelector('.flame').dispatchEvent(new PointerEvent('pointerleave'))")
    expect(browser.text(".status")).to start_with("Products#show: 250 ms")
  end

  it "keeps the box at which the keys are in sight, and goes out with the key that leads to callers" do
    browser.show(page, URI.encode_www_form(show.map { |name| ["zoom", name] }))
    browser.run("document.querySelector('.flame').focus()")
    browser.press(*([:up] * 40))
    browser.until_true("the last box") { browser.run("document.querySelector('.frame.here')?.getAttribute('name')") == "Price#of_39" }
    expect(place_of("Price#of_39", "top").first).to be(true)
    expect(browser.text(".status")).to start_with("Price#of_39: 200 ms")
    browser.press(*([:down] * 41))
    browser.until_true("the caller") { zoomed_to == "Rack#call_29" }
    expect(browser.boxes).to include("Rack#call_29" => 1.0, "Products#index" => be_within(0.002).of(0.75))
    expect(browser.run("document.activeElement.className")).to eq("flame")
  end
end
