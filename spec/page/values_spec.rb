# frozen_string_literal: true

require_relative "../support/profile_page"
require_relative "../support/pprof_builder"

# Whatever a file counts, each view shows all of it, and no more.
RSpec.describe "The page of a pprof with many values", :once do
  include ProfilePage

  types = [%w[cpu nanoseconds], %w[wall nanoseconds], %w[alloc_objects count], %w[alloc_space bytes], %w[retries tries]]
  random = Random.new(7)
  names = ["Shop#call", "Cart#total", "Array#each", "Tax.of", "Log.write"]
  # Some call themselves, some stand in several stacks; not every sample has each value.
  samples = Array.new(60) do |index|
    stack = Array.new(1 + random.rand(6)) { names.sample(random:) }
    values = [1_000_000, 1_000_000_000, 1, 2**20, 1].map { |unit| random.rand(3).zero? ? 0 : unit * (1 + random.rand(500)) }
    [stack, values, { "endpoint" => "GET /#{index % 3}", **(index.even? ? { "tenant" => "t#{index % 4}" } : {}) }]
  end
  # More than 2**53 would be no exact number in a browser; negative ones come from pprofs that are differences.
  build = lambda do |list|
    list.each_with_object(PprofBuilder.new(types:)) { |sample, pprof| pprof.sample(*sample) }.gzip
  end

  factors = { "ns" => 1, "µs" => 1e3, "ms" => 1e6, "s" => 1e9, "B" => 1, "KiB" => 2**10, "MiB" => 2**20, "GiB" => 2**30, "tries" => 1, nil => 1 }.freeze
  define_method(:amount) do |text|
    number, unit = text.match(%r{\A\+?(-?[\d,.]+)(?: ?([^\s/]+))?}).captures
    number.delete(",").to_f * factors.fetch(unit)
  end

  # Three digits are shown of what has a unit, all of what is counted.
  def about(number) = be_within([number.abs * 0.0051, 0.5].max).of(number)
  def amounts(hash) = hash.transform_values { |number| about(number) }

  # @return [Hash{Array<String> => Integer}] what each call comes to, by its way from the root
  calls = lambda do |list, type|
    list.each_with_object(Hash.new(0)) do |(stack, values, _), sums|
      (0..stack.size).each { |depth| sums[stack.reverse.take(depth)] += values[type] }
    end
  end
  sums_of = ->(list, type, &keys) { list.each_with_object(Hash.new(0)) { |sample, sums| keys.(sample).each { |key| sums[key] += sample[1][type] } }.reject { |_, sum| sum.zero? } }

  types.each_with_index do |(name, _), type|
    describe name do
      whole = samples.sum { |sample| sample[1][type] }
      functions = {
        self: sums_of.(samples, type) { |stack, _, _| [stack.first] },
        total: sums_of.(samples, type) { |stack, _, _| stack.uniq }
      }
      let(:url) { page({ "all.pb.gz" => build.(samples) }) }

      it "has boxes as wide as their shares" do
        expected = calls.(samples, type).each_with_object(Hash.new(0.0)) { |(path, sum), boxes| boxes[path.last || "all"] += sum.fdiv(whole) }
        expect(browser.show(url, value: name).boxes).to match(shares(expected.reject { |_, share| share.zero? }))
      end

      it "has all of it in the table, the tree and the callers" do
        browser.show(url, view: "table", value: name)
        rows = browser.rows.to_h { |row| [row[4], row.values_at(0, 2).map { |text| amount(text) }] }
        expect(rows).to match(functions[:total].to_h { |function, total| [function, [about(functions[:self].fetch(function, 0)), about(total)]] })

        browser.show(url, view: "tree", value: name)
        expect(browser.rows.first.values_at(0, 1).map { |text| amount(text) }).to match([about(0), about(whole)])

        function, = functions[:total].max_by(&:last)
        browser.show(url, view: "callers", value: name, method: JSON.generate([function, "app.rb"]))
        callers, callees = [1, 2].map { |at| browser.rows(".beside > :nth-child(#{at})").to_h { |row| [row[2], amount(row[0])] } }
        # In a stack a call counts once, as in the reports, also where a function calls itself.
        edges = sums_of.(samples, type) { |stack, _, _| stack.push("(no caller)").each_cons(2).uniq.map(&:reverse).tap { stack.pop } }
        expect(callers).to match(amounts(edges.filter_map { |(caller, called), sum| [caller, sum] if called == function }.to_h))
        expect(callees).to match(amounts(edges.filter_map { |(caller, called), sum| [called, sum] if caller == function }.to_h.merge("(itself)" => functions[:self][function])))
      end

      it "has all of it in its labels, the timeline and a comparison" do
        browser.show(url, view: "tags", value: name)
        tenants = browser.rows("main .tags > :nth-child(2)").to_h { |row| [row[2], amount(row[0])] }
        expect(tenants).to match(amounts(sums_of.(samples, type) { |_, _, labels| [labels.fetch("tenant", "(none)")] }))

        browser.show(url, view: "timeline", value: name, rows: "endpoint")
        cells = browser.run("[...document.querySelectorAll('main tbody tr')].map((row) => [row.cells[0].innerText, ...[...row.querySelectorAll('td')].map((cell) => cell.innerText)])")
        expect(cells.to_h { |key, *texts| [key, texts.sum { |text| amount(text) }] }).to match(amounts(sums_of.(samples, type) { |_, _, labels| [labels["endpoint"]] }))

        sides = { "base.pb.gz" => "base", "target.pb.gz" => "target" }
        halves = samples.partition.with_index { |_, index| index < 30 }
        browser.show(page(sides.keys.zip(halves.map(&build)).to_h, sides:), "view=table&compare=side&value=#{name}")
        before, after = halves.map { |half| sums_of.(half, type) { |stack, _, _| stack.uniq } }
        rows = browser.rows.to_h { |row| [row[6], row.values_at(4, 5).map { |text| amount(text) }] }
        expect(rows).to match((before.keys | after.keys).to_h { |function| [function, [about(before.fetch(function, 0)), about(after.fetch(function, 0))]] })
      end
    end
  end

  it "reads numbers of any size and sign" do
    numbers = [1, 127, 128, 2**21, (2**28) - 1, 2**28, 2**35, 2**53, -1, -300, -(2**40)]
    list = numbers.map { |number| [["f#{number}"], [0, 0, number, 0, 0]] }
    browser.show(page({ "numbers.pb" => build.(list) }), view: "table", value: "alloc_objects")
    expect(browser.rows.to_h { |row| [row[4], row[0].delete(",").to_i] }).to eq(numbers.to_h { |number| ["f#{number}", number] })
  end
end
