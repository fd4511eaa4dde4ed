# frozen_string_literal: true

require "ferrum"

# The page in a real browser, without a screen. What is asked of it waits until it is so: machines are slow.
class Chromium
  MAX_WAIT_SECONDS = 120

  def initialize
    options = { "disable-gpu" => nil, "disable-dev-shm-usage" => nil, **(Process.uid.zero? ? { "no-sandbox" => nil } : {}) }
    @browser = Ferrum::Browser.new(browser_path: program, window_size: [1400, 900], timeout: MAX_WAIT_SECONDS,
                                   process_timeout: MAX_WAIT_SECONDS, browser_options: options)
  end

  # @param state [Hash, String] of the page, as in its address
  def show(url, state = {})
    @browser.go_to("about:blank") # else a change behind the # is no new page
    @browser.go_to("#{url}##{state.is_a?(Hash) ? URI.encode_www_form(state) : state}")
    until_true("the page to be drawn") { run("document.body.dataset.drawn || document.body.dataset.loaded === '0'") }
    self
  end

  def run(code) = @browser.evaluate(code)
  def text(selector = "main") = run("document.querySelector(#{JSON.generate(selector)})?.innerText")
  def address = URI.decode_www_form(run("location.hash").delete_prefix("#")).to_h
  def requests = @browser.network.traffic.map { |exchange| exchange.request&.url }.compact
  def click(selector) = run("document.querySelector(#{JSON.generate(selector)}).click()")
  def press(*keys) = @browser.keyboard.type(*keys)
  def choose(path) = @browser.at_css("input[type=file]").select_file(path)
  def cookie(name, value, domain) = @browser.cookies.set(name:, value:, domain:)
  def resize(width, height) = @browser.resize(width:, height:)
  def screenshot(path) = @browser.screenshot(path:)
  def collect_garbage = @browser.page.command("HeapProfiler.collectGarbage")
  def pid = @browser.process.pid
  def quit = @browser.quit

  # @return [Array<Array<String>>] the cells of a table's body
  def rows(selector = "main table")
    run("[...document.querySelectorAll(#{JSON.generate("#{selector} tbody tr")})].map((row) => [...row.cells].map((cell) => cell.innerText))")
  end

  # @return [Hash{String => Float}] the share of the width that boxes of a name have
  def boxes(graph = 0)
    list = run(<<~JS)
      [...document.querySelectorAll(".flame")[#{graph}]?.querySelectorAll("g.frame") ?? []] // while it is drawn anew there is none
        .map((box) => [box.getAttribute("name"), Number(box.getAttribute("width")) / Number(box.ownerSVGElement.getAttribute("width"))])
    JS
    list.each_with_object(Hash.new(0.0)) { |(name, share), sums| sums[name] += share }
  end

  def until_true(what)
    deadline = now + MAX_WAIT_SECONDS
    until (answer = yield)
      raise "waited #{MAX_WAIT_SECONDS} s for #{what}: #{text("body")}" if now > deadline

      sleep 0.02
    end
    answer
  end

  private

  def program = %w[chromium chromium-browser google-chrome].find { |name| system("command -v #{name} >/dev/null") }
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
