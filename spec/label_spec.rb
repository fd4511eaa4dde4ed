# frozen_string_literal: true

require "rperf_push"

RSpec.describe RperfPush, ".label", :interpreted, :text, :short, :quick do
  include_context "while profiling runs"

  # A fiber of its own for each, so that what persists does not reach the next.
  around { |example| Fiber.new(storage: {}) { example.run }.resume }

  it "holds for the block and returns its value" do
    answer = described_class.label(request: "abc", endpoint: "/users") do
      expect(described_class.labels).to eq(request: "abc", endpoint: "/users")
      42
    end
    expect(answer).to eq(42)
    expect(described_class.labels).to eq({})
  end

  it "holds on without a block, merges, and removes with nil" do
    expect(described_class.label(request: "abc")).to be_nil
    described_class.label(phase: "db")
    expect(described_class.labels).to eq(request: "abc", phase: "db")
    described_class.label(request: nil)
    expect(described_class.labels).to eq(phase: "db")
  end

  it "restores what was before, whatever happened inside" do
    described_class.label(request: "abc") do
      described_class.label(request: "def", phase: "db") { described_class.label(extra: "x") }
      expect(described_class.labels).to eq(request: "abc")
    end
    expect(described_class.labels).to eq({})
  end

  it "restores after an exception, a throw and a break" do
    expect { described_class.label(a: 1) { raise IOError } }.to raise_error(IOError)
    catch(:done) { described_class.label(a: 1) { throw :done } }
    [1].each { described_class.label(a: 1) { break } }
    expect(described_class.labels).to eq({})
  end

  it "converts values with to_s and takes keys of both kinds" do
    described_class.label(number: 42, symbol: :eu, "text" => "x") do
      expect(described_class.labels).to eq(number: "42", symbol: "eu", text: "x")
    end
  end

  it "copies: the caller's objects stay unfrozen and may change" do
    value = +"abc"
    described_class.label(request: value) do
      value << "def"
      expect(described_class.labels).to eq(request: "abc")
    end
    expect(value).not_to be_frozen
    described_class.labels[:own] = "mine"
    expect(described_class.labels).to eq({})
  end

  it "cuts values to 200 bytes at a character and makes them valid UTF-8" do
    described_class.label(long: "é" * 150, broken: "a\xFFb") do
      expect(described_class.labels[:long]).to eq("é" * 100)
      expect(described_class.labels[:broken]).to eq("a?b")
      expect(described_class.labels.values.map(&:encoding).uniq).to eq([Encoding::UTF_8])
    end
  end

  it "is inherited by fibers and threads created inside, and theirs stay with them" do
    described_class.label(request: "abc") do
      fiber = Fiber.new { described_class.label(phase: "fiber"); described_class.labels }
      thread = Thread.new { described_class.label(phase: "thread"); described_class.labels }
      expect(fiber.resume).to eq(request: "abc", phase: "fiber")
      expect(thread.value).to eq(request: "abc", phase: "thread")
      expect(described_class.labels).to eq(request: "abc")
    end
  end

  it "belongs to the fiber" do
    other = Fiber.new do
      described_class.label(request: "other") do
        Fiber.yield
        described_class.labels
      end
    end
    other.resume
    expect(described_class.labels).to eq({})
    described_class.label(request: "mine") { expect(other.resume).to eq(request: "other") }
  end

  it "takes 64 labels, leaves more of them out, and counts those; what is there already stays" do
    before = described_class.stats[:labels_dropped]
    many = (1..64).to_h { |number| [:"label_#{number}", number] }
    described_class.label(**many) do
      described_class.label(more: 1, label_1: 2) do
        expect(described_class.labels.values_at(:more, :label_1)).to eq([nil, "2"])
      end
      expect(described_class.labels.size).to eq(64)
    end
    described_class.label(**(1..1_000).to_h { |number| [:"label_#{number}", number] }) do
      expect(described_class.labels.size).to eq(64)
    end
    expect(described_class.labels).to eq({})
    expect(described_class.stats[:labels_dropped] - before).to eq(1 + 936)
  end

  it "refuses what has no text, leaving those that were there" do
    nothing = BasicObject.new
    expect { described_class.label(nothing:) { raise "not reached" } }.to raise_error(NoMethodError)
    expect(described_class.labels).to eq({})
  end
end

RSpec.describe RperfPush, ".label while nothing runs" do
  it "only calls its block" do
    expect(described_class.label(request: "abc") { [42, described_class.labels] }).to eq([42, {}])
    expect(described_class.label(request: "abc")).to be_nil
    expect(described_class.labels).to eq({})
  end

  it "passes through what the block raises" do
    expect { described_class.label(request: "abc") { raise IOError, "mine" } }.to raise_error(IOError, "mine")
  end
end
