# frozen_string_literal: true

require_relative "../support/profile_page"

# What a reader can reach and read: with keys, on a phone, with long names, and after going back.
RSpec.describe "The page for its readers", :once do
  include ProfilePage

  views = %w[flame table callers tree tags timeline source]
  data = { mode: :cpu, frequency: 100, start_time_ns: 1_700_000_000_000_000_000, duration_ns: 10_000_000_000, label_sets: [{ endpoint: "GET /" }, { "%GVL": "blocked", endpoint: "POST /" }],
           values: { wall: [70_000_000, 900_000_000] }, user_ns: 1_000_000, maxrss_mb: 10, sampling_count: 10, detected_thread_count: 2,
           aggregated_samples: [[[["a.rb", "A#pow", 12], ["main.rb", "<main>", 1]], 60_000_000, 1, 0], [[["<C method>", "B#wait", 0], ["main.rb", "<main>", 1]], 30_000_000, 1, 1]] }
  long = "A" * 4000
  named = data.merge(aggregated_samples: [[[["#{long}.rb", long, 12], ["main.rb", "<main>", 1]], 60_000_000, 1, 0]], label_sets: [{ long.to_sym => long }], values: nil)

  define_method(:page) { |content = data| super({ "p.json" => content }) }

  # @param width [Integer] as of a phone or a screen
  def on_screen(width, height: 740)
    browser.resize(width, height)
    yield
  ensure
    browser.resize(1400, 900)
  end

  describe "going back" do
    # Chromium keeps 50 steps: when it drops the first ones, it goes back by more than one. So this one has no steps yet.
    before { @browser = Chromium.new }
    after { @browser.quit }

    def choose(name, value)
      browser.run("(() => { const list = document.querySelector('select[name=\"#{name}\"]'); list.value = #{JSON.generate(value)}; list.dispatchEvent(new Event('change')) })()")
    end

    it "undoes a change of measure, of grouping and of a filter, one after the other, and stays on the page" do
      browser.show(page)
      choose("Value", "wall")
      choose("By", "file")
      browser.run("Object.assign(document.querySelector('#focus'), { value: 'pow' }).dispatchEvent(new Event('change'))")
      browser.run("document.querySelector('#search').focus()")
      browser.press("w", "a", "i", "t")
      browser.until_true("the search") { browser.address["search"] == "wait" }
      ended = { "value" => "wall", "group" => "file", "focus" => "pow" }
      [ended, ended.slice("value", "group"), ended.slice("value"), {}].each do |state|
        browser.run("history.back()")
        browser.until_true("#{state} again") { browser.address == state }
      end
      expect(browser.boxes).to include("A#pow" => be_within(0.002).of(2 / 3.0))
    end
  end

  describe "with keys" do
    it "is at the graph with the first tab and Enter" do
      browser.show(page).press(:tab)
      expect(browser.run("document.activeElement.innerText")).to match(/Skip/)
      browser.press(:enter)
      browser.until_true("the graph") { browser.run("document.activeElement.className") == "flame" }
    end

    it "has a main landmark with one panel of the tabs in it, whatever the view" do
      views.each do |view|
        browser.show(page, view:)
        expect(browser.run("[...document.querySelectorAll('main')].map((main) => [main.getAttribute('role'), main.firstElementChild.getAttribute('role'), main.children.length])")).to eq([[nil, "tabpanel", 1]])
      end
    end

    it "lists the keys in a window that fits, and goes on when it is closed" do
      [360, 1280].each do |width|
        on_screen(width) do
          browser.show(page).press("?")
          browser.until_true("the list") { browser.run("document.querySelector('#keys').open") }
          expect(browser.run("(({ left, right, bottom }) => left >= 0 && right <= innerWidth && bottom <= innerHeight)(document.querySelector('#keys').getBoundingClientRect())")).to be(true)
          browser.press("2", :escape)
          browser.until_true("its end") { !browser.run("document.querySelector('#keys').open") }
          expect(browser.address).to eq({})
        end
      end
    end
  end

  it "has text that can be read, in the light and in the dark" do
    contrast = <<~JS
      (() => {
        const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const rgb = (colour) => { brush.clearRect(0, 0, 1, 1); brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1); return [...brush.getImageData(0, 0, 1, 1).data]; };
        const light = (colour) => rgb(colour).slice(0, 3).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
        const backOf = (element) => {
          const box = element.closest("g.frame");
          if (box) return getComputedStyle(box.querySelector("rect")).fill;
          for (let at = element; at; at = at.parentElement) { const { backgroundColor } = getComputedStyle(at); if (rgb(backgroundColor)[3] === 255) return backgroundColor; }
          return "white";
        };
        const shown = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && !element.closest(":disabled, .heat, .minimap, .unseen") &&
          [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ""));
        return shown.map((element) => {
          const [one, other] = [light(getComputedStyle(element).color), light(backOf(element))].sort((a, b) => b - a);
          let opacity = 1;
          for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
          return [element.textContent.trim().slice(0, 40), opacity < 1 ? 0 : (one + 0.05) / (other + 0.05)];
        }).filter(([, ratio]) => ratio < 4.5);
      })()
    JS
    %w[light dark].each do |theme|
      views.each { |view| expect([theme, view, browser.show(page, view:, theme:).run(contrast)]).to eq([theme, view, []]) }
      [{ search: "pow" }, { compare: "label", key: "endpoint", base: "GET /", target: "POST /" }, [%w[zoom <main>], %w[zoom A#pow]].then { |zoom| URI.encode_www_form([*zoom, ["theme", theme]]) }].each do |state|
        browser.show(page, state.is_a?(Hash) ? state.merge(theme:) : state)
        expect([theme, state, browser.run(contrast)]).to eq([theme, state, []])
      end
    end
  end

  it "holds names of 4,000 characters: nothing is wider than the window, and no row fills it" do
    [360, 1280].each do |width|
      on_screen(width) do
        views.each do |view|
          browser.show(page(named), view:, method: JSON.generate([long, "#{long}.rb"]))
          expect([width, view, browser.run("document.documentElement.scrollWidth <= innerWidth")]).to eq([width, view, true])
          heights = browser.run("[...document.querySelectorAll('h2, main tr, .status, .breadcrumb')].map((one) => one.getBoundingClientRect().height)")
          expect([width, view, heights.max.to_f]).to match([width, view, be < 120])
        end
        browser.show(page(named), URI.encode_www_form([%w[zoom <main>], ["zoom", long]]))
        expect(browser.run("document.documentElement.scrollWidth <= innerWidth")).to be(true)
        expect(browser.text(".status")).to match(/\AA{60} … A{40}: 60.0 ms, 100.0 %/)
      end
    end
  end

  describe "on a phone" do
    it "has the graph in the upper half of the screen, and no part wider than it" do
      on_screen(360) do
        browser.show(page)
        expect(browser.run("document.querySelector('.flame').getBoundingClientRect().top")).to be < 340
        expect(browser.run("document.documentElement.scrollWidth")).to be <= 360
        browser.click(".filters summary")
        browser.until_true("the filters") { browser.run("document.querySelector('#focus').checkVisibility()") }
      end
    end

    it "says what a box comes to when it is tapped, and a cell of the timeline" do
      on_screen(360) do
        browser.show(page)
        browser.run("document.querySelector('g.frame[name=\"A#pow\"]').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        browser.until_true("the amount") { browser.text(".status").start_with?("A#pow: 60.0 ms, 66.7 %; self 60.0 ms") }
        expect(browser.run("(({ scrollHeight, clientHeight, scrollWidth, clientWidth }) => scrollHeight <= clientHeight && scrollWidth <= clientWidth)(document.querySelector('.status'))")).to be(true)
        browser.show(page, view: "timeline", rows: "endpoint")
        browser.run("['pointerdown', 'pointerup'].forEach((kind) => document.querySelector('td.heat').dispatchEvent(new PointerEvent(kind, { bubbles: true })))")
        expect(browser.text(".status")).to match(%r{\AGET /, .*: 6.00 ms/s \(60.0 ms in 10.0 s\)\z})
      end
    end
  end

  it "has an icon of its own, so that no browser asks for another one" do
    browser.show(page)
    expect(browser.run("(async () => { const icon = new Image(); icon.src = document.querySelector('link[rel=icon]').href; await icon.decode(); window.icon = icon.naturalWidth })().catch(() => { window.icon = -1 }) && 1")).not_to be_nil
    browser.until_true("the icon") { browser.run("window.icon ?? null") }
    expect(browser.run("window.icon")).to be_positive
  end
end
