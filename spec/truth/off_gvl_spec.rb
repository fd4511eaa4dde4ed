# frozen_string_literal: true

require_relative "../support/profiled_program"

# CPU time is CPU time, with the GVL or without it; blocking is wall time at the method that blocks.
RSpec.describe "Off the GVL", :measures, :interpreted do
  # Deflation runs with the GVL in between, so it is sampled there: once for long, not now and then.
  program_text = <<~RUBY
    require "burner"
    require "zlib"

    DATA_TO_DEFLATE = Random.new(1).bytes(4 << 20)

    def deflate = Truth.spend(:deflate) { Zlib.deflate(DATA_TO_DEFLATE) }
    def burn = Truth.spend(:burn) { Burner.burn_without_gvl(0.1) }
    def sleep_holding = Burner.sleep_with_gvl(1.6)
    def compute(seconds)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      nil while Truth.thread_cpu < stop
    end

    Truth.profile do
      compute(0.1)
      8.times { deflate }
      4.times do
        compute(0.1)
        burn
      end
      sleep_holding
      compute(0.1)
    end
    Burner.spent.each { |name, (cpu, wall)| Truth["cpu in " + name] = cpu; Truth["wall in " + name] = wall }
  RUBY

  with_each_engine(program_text, frequency: 499) do
    it "counts the CPU time of zlib, at zlib" do
      few_ticks = 30_000_000 # what it does with the GVL is sampled, beside what computes in the same window
      expect(program.cpu { |sample| sample.in?("Object#deflate") }).to be_within((truth["deflate"] * 0.05) + few_ticks).of(truth["deflate"])
      off_gvl = program.cpu { |sample| sample.leaf == "Zlib.deflate" && sample.state == :blocked }
      expect(off_gvl).to be > truth["deflate"] * 0.8
    end

    it "counts the CPU time of a C loop, at the loop, as off the GVL" do
      off_gvl = program.cpu { |sample| sample.leaf == "Burner.burn_without_gvl" && sample.state == :blocked }
      expect(off_gvl).to be_within(truth["burn"] * 0.05).of(truth["burn"])
    end

    it "counts no CPU time twice" do
      expect(program.cpu).to be_within(truth["ruby_cpu"] * 0.02).of(truth["ruby_cpu"])
    end

    it "shows blocking that keeps the GVL as wall time of the method" do
      # JIT code looks for work only when it calls the next method, so the time is found one frame further out.
      yjit = RubyVM.const_defined?(:YJIT) && RubyVM::YJIT.enabled?
      slept = program.wall { |sample| sample.in?("Object#sleep_holding") && (yjit || sample.leaf == "Burner.sleep_with_gvl") }
      expect(slept).to be_within(truth["wall in sleep_with_gvl"] * 0.1).of(truth["wall in sleep_with_gvl"])
    end
  end
end
