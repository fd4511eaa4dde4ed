# frozen_string_literal: true

require_relative "../support/profile_page"

# One colour for one state, wherever it is shown; what ran has the colour of whose code it is.
RSpec.describe "The page's colours", :once do
  include ProfilePage

  main = ["main.rb", "<main>", 1]
  c = ->(name) { ["<C method>", name, 0] }
  # Name, state, CPU and wall time in ms.
  leaves = [
    [["app.rb", "App#compute", 1], {}, 100, 110], [c.("BCrypt.hash"), { "%GVL": "blocked" }, 90, 100], [c.("PG.exec"), { "%GVL": "blocked" }, 5, 100],
    [c.("Integer#*"), { "%GVL": "wait" }, 0, 100], [c.("Array#new"), { "%GC": "mark" }, 100, 100], [["app.rb", "App#starved", 1], {}, 10, 100]
  ]
  data = { mode: :wall, label_sets: leaves.map { |leaf| leaf[1] }, aggregated_samples: leaves.map.with_index { |(frame, _, _, wall), at| [[frame, main], wall * 1_000_000, 1, at] },
           values: { cpu: leaves.map { |leaf| leaf[2] * 1_000_000 } } }

  define_method(:page) { |content = data, name: "p.json"| super({ name => content }) }

  def fills = browser.run("Object.fromEntries([...document.querySelectorAll('g.frame')].map((box) => [box.getAttribute('name'), box.querySelector('rect').getAttribute('fill').slice(10, -1)]))")

  it "tell what threads did in a box: CPU off the GVL is no wait, and waits are told apart" do
    browser.show(page)
    expect(fills).to eq("all" => "label", "<main>" => "application", "App#compute" => "application", "BCrypt.hash" => "native", "PG.exec" => "blocked",
                        "Integer#*" => "gvl", "Array#new" => "gc", "App#starved" => "core")
    browser.show(page, value: "cpu")
    expect(fills).to include("BCrypt.hash" => "native", "PG.exec" => "native", "Array#new" => "gc", "App#starved" => "application")
  end

  it "tell of a file without CPU time that a thread was off the GVL, and no more" do
    browser.show(page(data.except(:values)))
    expect(fills).to include("BCrypt.hash" => "off", "PG.exec" => "off", "Integer#*" => "gvl", "App#starved" => "application")
    states = "[GVL wait];main 5\n[GVL blocked];main 5\n[GC marking];main 5\n".lines.map { |line| line.chomp.then { |text| "main;#{text[/\[.*?\]/]} 5" } }.join("\n")
    browser.show(page("#{states}\n", name: "p.collapsed"))
    expect(fills).to include("[GVL wait]" => "gvl", "[GVL blocked]" => "off", "[GC marking]" => "gc")
  end

  it "mean one thing each, in all legends and bars" do
    browser.show(page)
    shown = browser.run(<<~JS)
      [...document.querySelectorAll(".legend li")].map((one) => [getComputedStyle(one.querySelector(".swatch")).backgroundColor, one.innerText.replace(/ [\\d.]+ %$/, "").trim()])
    JS
    expect(shown.size).to be > shown.uniq.size # both legends name the same states
    expect(shown.uniq.group_by(&:first).transform_values(&:size).values).to all(eq(1))
    expect(shown.uniq.map(&:last)).to match_array(["CPU", "CPU off the GVL", "GC", "GVL wait", "core wait", "I/O, sleep, locks", "application", "C"] - ["C"])
    bar = browser.run("[...document.querySelector('#did .doing').children].map((part) => getComputedStyle(part).backgroundColor)")
    expect(bar).to eq(shown.first(6).map(&:first))
    boxes = browser.run("[...document.querySelectorAll('g.frame rect')].map((one) => getComputedStyle(one).fill)")
    expect(boxes & shown.map(&:first)).to match_array(boxes.uniq - [boxes.first])
  end

  it "are all different, in the light and in the dark" do
    names = %w[application gem ruby c label cpu native gc gvl core blocked running off grown same shrunk other]
    %w[light dark].each do |theme|
      browser.show(page, theme:)
      found = browser.run("#{names.to_json}.map((name) => { const one = document.body.appendChild(document.createElement('i')); one.style.color = `var(--box-${name})`; return getComputedStyle(one).color })")
      expect(found.uniq.size).to eq(names.size)
    end
  end
end
