# frozen_string_literal: true

require_relative "../support/profiled_program"

# Stacks say where, in words that a person knows from the source.
RSpec.describe "Stacks" do
  burn = <<~RUBY
    def burn(seconds = 0.12)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      nil while Truth.thread_cpu < stop
    end
  RUBY

  it "keep the leaf of a deep one and say that the root was cut" do
    room = { "RUBY_THREAD_VM_STACK_SIZE" => (4 << 20).to_s }
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, frequency: 250, arguments: ["--disable-yjit"], env: room)
      #{burn}
      def dive(depth) = depth.zero? ? burn : dive(depth - 1)
      Truth.profile { Thread.new { dive(10_000) }.join; dive(10_000) }
    RUBY
    deep = program.samples.select { |sample| sample.in?("Object#dive") && sample.in?("Object#burn") }
    expect(deep.sum(&:cpu)).to be > 120_000_000 # of twice as much
    expect(deep.map(&:root)).to all(eq("[truncated]"))
    expect(deep.map { |sample| sample.frames.size }).to all(be_between(500, 520))
    expect(program.truth["stats"]["samples_truncated"]).to be_positive
  end

  describe "lines" do
    lines = <<~RUBY
      def work
        stop = Truth.thread_cpu + 400_000_000
        while Truth.thread_cpu < stop
          i = 0
          while i < 30_000 do i += 1 end # line 5
        end
        nil
      end

      Truth.profile do
        work # line 11
      end
    RUBY

    it "are right in the interpreter" do
      program = ProfiledProgram.run(lines, folder: tmpdir, frequency: 250, arguments: ["--disable-yjit"])
      work = program.samples.select { |sample| sample.leaf == "Object#work" }
      on_line = work.select { |sample| sample.frames.first.line == 5 }.sum(&:cpu)
      expect(on_line).to be > work.sum(&:cpu) * 0.8
      expect(work.map { |sample| sample.frames[1].line }.uniq).to eq([11])
      expect(work.map { |sample| sample.frames.first.start_line }.uniq).to eq([1])
      expect(work.map { |sample| File.basename(sample.frames.first.filename) }.uniq).to eq(["program.rb"])
    end

    it "are unknown rather than wrong with YJIT" do
      skip "this Ruby has no YJIT" unless RbConfig::CONFIG["YJIT_SUPPORT"].to_s != "no"

      program = ProfiledProgram.run(lines, folder: tmpdir, arguments: ["--yjit", "--yjit-call-threshold=1"])
      work = program.samples.select { |sample| sample.leaf == "Object#work" }
      expect(work).not_to be_empty
      expect(work.map { |sample| sample.frames.first.line }.uniq - [0, 3, 4, 5]).to be_empty
    end
  end

  names = <<~RUBY
    #{burn}
    module Shop
      class Cart
        def total = burn
        def self.open = burn
        class << self
          def close = burn
        end
        def each_item = 1.times { burn }
        define_method(:defined) { burn }
      end
    end
    ANONYMOUS = nil
    anonymous = Class.new { def anonymous_method = burn; def self.anonymous_singleton = burn }
    single = Object.new
    def single.own = burn
    cart = Shop::Cart.new
    def cart.special = burn
    Truth.profile do
      cart.total
      Shop::Cart.open
      Shop::Cart.close
      cart.each_item
      cart.defined
      cart.special
      anonymous.new.anonymous_method
      anonymous.anonymous_singleton
      single.own
      eval "def evaluated = burn; evaluated"
    end
  RUBY

  it "have qualified names without heap addresses, the same in each process" do
    found = Array.new(2) { ProfiledProgram.run(names, folder: tmpdir, frequency: 250).samples.flat_map(&:names).uniq.sort }
    expect(found.first).to include("Shop::Cart#total", "Shop::Cart.open", "Shop::Cart.close", "Shop::Cart#each_item",
                                   "Integer#times", "Object#evaluated")
    # The VM knows the block of define_method by its place only.
    expect(found.first).to include("block in <class:Cart>")
    expect(found.first.grep(/anonymous_method/)).to contain_exactly(match(/\A#<Class:0x…>#anonymous_method\z/))
    expect(found.first.grep(/anonymous_singleton/)).to contain_exactly(match(/\A#<Class:0x…>\.anonymous_singleton\z/))
    expect(found.first.grep(/\.(own|special)\z/)).to contain_exactly("#<Object:0x…>.own", "#<Shop::Cart:0x…>.special")
    expect(found.flatten.grep(/0x\h/)).to be_empty
    expect(found[0] & found[1]).to include(*found[0].grep(/Shop|anonymous|\.own|special/))
  end

  it "do not show the profiler's own frames" do
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir)
      #{burn}
      Truth.profile do
        RperfPush.label(a: 1) { burn }
        5000.times { |i| RperfPush.label(i: i % 3) { RperfPush.labels } }
        5.times { RperfPush.flush }
        200.times { RperfPush.stats }
      end
    RUBY
    expect(program.samples.flat_map(&:names).grep(/Rperf/)).to be_empty
    expect(program.samples.flat_map(&:frames).map(&:filename).grep(%r{/lib/rperf_push})).to be_empty
  end

  it "are listed with the source by go tool pprof" do
    skip "there is no go here" unless system("go", "version", out: File::NULL, err: File::NULL)

    source = File.join(tmpdir, "listed.rb")
    File.write(source, "def listed\n  stop = Truth.thread_cpu + 400_000_000\n  nil while Truth.thread_cpu < stop\nend\n")
    ProfiledProgram.run(<<~RUBY, folder: tmpdir, frequency: 250, arguments: ["--disable-yjit"])
      require #{source.inspect}
      Truth.profile { listed }
    RUBY
    files = Dir[File.join(tmpdir, "**", "*.pb.gz")]
    listing, = run_program(["go", "tool", "pprof", "-sample_index=cpu", "-list", "listed", *files])
    expect(listing).to match(/[345]\d\d(\.\d+)?ms\s+3:\s+nil while Truth\.thread_cpu < stop/)
  end
end
