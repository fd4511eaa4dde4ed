# frozen_string_literal: true

require_relative "../support/profile_page"

# Two files side by side: what changed by more than chance, in amounts.
RSpec.describe "The page of a comparison", :once do
  include ProfilePage

  # @param methods [Hash{String => Array}] milliseconds, and the weights of the samples that they are the sum of
  def self.side(methods, precise: true)
    squares = methods.map { |_, (_, weights)| weights.sum { |weight| (weight * 1_000_000)**2 } }
    { mode: :cpu, label_sets: [{}], aggregated_samples: methods.map { |name, (amount, _)| [[["a.rb", name, 1], ["a.rb", "<main>", 1]], amount * 1_000_000, 1, 0] },
      values: { wall: methods.map { 1 }, **(precise ? { samples: methods.map { |_, (_, weights)| weights.size }, weight_squares: squares } : {}) } }
  end

  before_change = { "same" => [228, [10] * 23], "slow" => [50, [10] * 5] }
  after_change = { "same" => [223, [10] * 22], "slow" => [673, [10] * 67] }
  sides = { "before.json" => "base", "after.json" => "target" }

  define_method(:compared) do |precise: [true, true], **state|
    files = [before_change, after_change].zip(precise).map { |methods, known| self.class.superclass.side(methods, precise: known) }
    browser.show(page(sides.keys.zip(files).to_h, sides:), { compare: "side", **state })
  end

  def fill(name) = browser.run("document.querySelector('g.frame[name=#{JSON.generate(name)}] rect').getAttribute('fill')")
  def tooltip(name) = browser.run("document.querySelector('g.frame[name=#{JSON.generate(name)}] title').textContent")

  describe "by default" do
    it "compares amounts, and shows both totals" do
      compared
      expect(browser.text("#compared")).to eq("cpu: 278 → 896 ms, +222 % (+618 ms)")
      expect(fill("same")).to eq("var(--box-same)")
      expect(fill("slow")).to match(/--box-grown/)
      compared(view: "table")
      expect(browser.text("#compared")).to start_with("cpu: 278 → 896 ms, +222 %")
      expect(browser.rows.to_h { |row| [row[6], row[0, 3]] }).to include("same" => ["-5.00 ms ± 134 ms (-0.6 %)", "228 ms", "223 ms"])
    end

    it "compares shares when it is asked to, and says by what the base was multiplied" do
      compared
      browser.click("input[name=relative]")
      browser.until_true("shares") { browser.address["relative"] == "1" }
      expect(browser.text("#compared")).to eq("cpu: 278 → 896 ms, +222 %. Shares are compared: amounts of the base are multiplied by 3.22")
      expect(fill("same")).to match(/--box-shrunk/)
    end
  end

  describe "errors" do
    it "leave without colour what is within two standard errors, and are said with each change" do
      weights = { "noise" => [[100, [10] * 10], [130, [10] * 13]], "real" => [[100, [1] * 100], [140, [1] * 140]] }
      files = [0, 1].map { |side| self.class.superclass.side(weights.transform_values { |both| both[side] }) }
      browser.show(page(sides.keys.zip(files).to_h, sides:), compare: "side")
      expect(fill("noise")).to eq("var(--box-same)") # 30 ms, ± 2·√(23·10²) = 96 ms
      expect(fill("real")).to match(/--box-grown/) # 40 ms, ± 2·√240 = 31 ms
      expect(tooltip("noise")).to eq("noise: 100 → 130 ms, +30 % (+30.0 ms ± 95.9 ms); self 100 → 130 ms, +30 % – a.rb")
    end

    it "are not said where a file does not know them" do
      [[false, true], [true, false], [false, false]].each do |precise|
        compared(precise:)
        expect([precise, tooltip("same")]).to eq([precise, "same: 228 → 223 ms, -2.2 % (-5.00 ms); self 228 → 223 ms, -2.2 % – a.rb"])
        expect(fill("same")).to match(/--box-shrunk/)
      end
    end

    it "are no values of the profile" do
      compared
      expect(browser.run("[...document.querySelector('select[name=Value]').options].map((one) => one.value)")).to eq(%w[cpu wall])
    end
  end

  it "says the error of each box of one profile, too" do
    browser.show(page({ "one.json" => self.class.side(after_change) }))
    expect(tooltip("slow")).to eq("slow: 673 ms ± 164 ms, 75.1 %; self 673 ms – a.rb")
    browser.show(page({ "one.json" => self.class.side(after_change) }), view: "table")
    expect(browser.run("[...document.querySelectorAll('main tbody tr')].map((row) => row.cells[0].title)")).to eq(["± 164 ms", "± 93.8 ms", ""])
  end
end
