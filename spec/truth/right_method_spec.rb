# frozen_string_literal: true

require_relative "../support/profiled_program"

# The method named is the method that ran: shares of CPU time against clocks read around, and inside of, the methods.
RSpec.describe "The right method", :measures do
  # Three loops of an expensive C method and something trivial, each a case of its own for an engine that waits for a
  # safepoint: after the C method comes a Ruby method, another C method, or the end of the caller.
  neighbours = <<~RUBY
    require "burner"

    def trivial_ruby = nil
    def c_then_ruby = (Burner.heavy(0.0005); trivial_ruby)
    def c_then_c = (Burner.other(0.0005); Burner.trivial)
    def c_last = Burner.last(0.0005)

    def go(seconds)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      yield while Truth.thread_cpu < stop
    end

    100.times { c_then_ruby; c_then_c; c_last; trivial_ruby }
    before = Burner.spent
    Truth.profile do
      cpu = Truth.thread_cpu
      3.times { go(0.4) { c_then_ruby }; go(0.4) { c_then_c }; go(0.4) { c_last } }
      Truth[:all] = Truth.thread_cpu - cpu
    end
    Burner.spent.each { |name, (cpu, _)| Truth[name] = cpu - before[name][0] }
  RUBY

  # Calls of some milliseconds, so that what is around them takes nothing to speak of, and each for 100 ms at a time, so that
  # the sampling error stays well below what is allowed.
  standard_library = <<~RUBY
    require "digest"
    require "zlib"

    DOCUMENT = JSON.generate(Array.new(5_000) { |i| { "id" => i, "name" => "n" + i.to_s, "on" => true } })
    BYTES = Random.new(1).bytes(4_000_000)
    FLOATS = Random.new(1).then { |random| Array.new(30_000) { random.rand } }
    BIG = 7**100_000

    def json = JSON.parse(DOCUMENT)
    def sha256 = Digest::SHA256.digest(BYTES)
    def crc32 = Zlib.crc32(BYTES)
    def sort = FLOATS.sort
    def digits = BIG.to_s
    METHODS = %i[json sha256 crc32 sort digits].map { |name| [name, method(name)] }

    def spend(name, method)
      Truth.spend(name) do
        stop = Truth.thread_cpu + 100_000_000
        method.call while Truth.thread_cpu < stop
      end
    end

    METHODS.each { |_, method| 30.times { method.call } }
    Truth.profile { 6.times { METHODS.each { |name, method| spend(name, method) } } }
  RUBY

  # JIT code leaves calls on objects of many classes to the interpreter, and no program counter in the frame that comes after.
  leaf_after_c = <<~RUBY
    OBJECTS = Array.new(25) { Class.new.new }

    def leaf(count)
      i = 0
      i += 1 while i < count
      i
    end

    def ask(object)
      object.frozen?
      object.hash
      leaf(20_000)
    end

    100.times { OBJECTS.each { |object| ask(object) } }
    Truth.profile do
      stop = Truth.thread_cpu + 1_000_000_000
      Truth.spend(:ask) { OBJECTS.each { |object| ask(object) } } while Truth.thread_cpu < stop
    end
  RUBY

  # Windows end at safepoints, which are never in the C method that takes all the time, and seldom in the GC.
  many_ends = <<~RUBY
    require "burner"

    def trivial = nil
    def collect = GC.start(full_mark: false)

    Truth.profile do
      cpu = Truth.thread_cpu
      700.times { |i| Burner.heavy(0.003); trivial; collect if i % 2 == 0 }
      Truth[:all] = Truth.thread_cpu - cpu
    end
    Truth[:heavy] = Burner.spent["heavy"][0]
  RUBY

  # As requests do: a little work, then a wait, over and over. Never twice the same: a rhythm close to the kernel's tick would be
  # seen at one of its phases only.
  bursts = <<~RUBY
    def work(milliseconds)
      stop = Truth.thread_cpu + milliseconds * 1_000_000
      nil while Truth.thread_cpu < stop
    end

    Truth.profile { 700.times { Truth.spend(:work) { work(rand(1.0..5.0)) }; sleep(rand(0.0005..0.0015)) } }
  RUBY

  leaves = {
    "json" => /JSON/, "sha256" => /Digest/, "crc32" => /Zlib\.crc32/, "sort" => /Array#sort/,
    "digits" => /Integer#to_s/
  }

  # The figures of docs/numbers.md.
  def say(title, truth, shares)
    figures = truth.map { |name, share| format("%s %.1f of %.1f %%", name, shares.fetch(name, 0) * 100, share * 100) }
    RSpec.configuration.reporter.message("      #{title}: #{figures.join(", ")}")
  end

  # The programs run as the specs do.
  mode = RubyVM.const_defined?(:YJIT) && RubyVM::YJIT.enabled? ? "YJIT" : "the interpreter"

  def library_shares(program, leaves)
    all = program.truth.values_at(*leaves.keys).sum.to_f
    [leaves.keys.to_h { |method| [method, program.truth[method] / all] },
     program.cpu_shares { |sample| leaves.keys.find { |method| sample.leaf.match?(leaves[method]) } }]
  end

  # What each C method spent inside of itself, and what the profile says.
  def neighbour_shares(program)
    truth = %w[heavy other last].to_h { |method| [method, program.truth[method].fdiv(program.truth["all"])] }
    shares = program.cpu_shares { |sample| sample.leaf.delete_prefix("Burner.") }
    [truth, truth.keys.to_h { |method| [method, shares.fetch(method, 0.0)] }]
  end

  # Each of the kernel's ticks is taken. On free cores they come evenly; on busy ones chance has a part.
  def all_ticks = { frequency: 250 }

  # Two percent, and what chance does to as many ticks as the program has.
  def near(share, program) = be_within(0.02 + (sampling_error(share * program.cpu, all: program.cpu, frequency: 250, alike: 1) / program.cpu)).of(share)

  it "names C methods next to trivial neighbours" do
    program = ProfiledProgram.run(neighbours, folder: tmpdir, **all_ticks)
    truth, shares = neighbour_shares(program)
    say "signal, #{mode}", truth, shares
    truth.each { |method, share| expect(shares[method]).to near(share, program), "#{method}: #{truth} #{shares}" }
  end

  it "names methods of the standard library" do
    program = ProfiledProgram.run(standard_library, folder: tmpdir, **all_ticks)
    truth, shares = library_shares(program, leaves)
    say "signal, #{mode}", truth, shares
    truth.each { |method, share| expect(shares.fetch(method, 0)).to near(share, program), "#{method}: #{shares}" }
  end

  it "names a method that JIT code calls after C methods of many classes" do
    program = ProfiledProgram.run(leaf_after_c, folder: tmpdir, **all_ticks)
    expect(program.cpu { |sample| sample.leaf == "Object#leaf" }).to be_within(program.truth["ask"] * 0.1).of(program.truth["ask"])
  end

  it "names them at the ends of windows" do
    program = ProfiledProgram.run(many_ends, folder: tmpdir, upload_interval: 0.2, **all_ticks) # ten ticks a window and more
    expect(program.windows.size).to be > 7
    running = program.samples.select { |sample| sample.leaf == "Burner.heavy" && sample.state == :running }
    expect(running.sum(&:cpu).fdiv(program.cpu)).to near(program.truth["heavy"].fdiv(program.truth["all"]), program)
    collecting = program.samples.select { |sample| %i[marking sweeping].include?(sample.state) }
    collecting -= program.in_window(program.windows.last) # the profiler stops there, which is no place of the program's
    in_place, elsewhere = collecting.partition { |sample| sample.in?("Object#collect") }.map { |some| some.sum(&:cpu) }
    expect(elsewhere).to be < in_place * 0.1
  end

  %w[signal safepoint].each do |engine|
    it "names what works for moments between waits, with engine #{engine}" do
      program = ProfiledProgram.run(bursts, folder: tmpdir, engine:, frequency: 499)
      truth = program.truth["work"]
      # The kernel looks at CPU timers at its own tick, so that there are a few hundred samples, and nearly all are of the work: 10 % is
      # more than five deviations.
      expect(program.cpu { |sample| sample.in?("Object#work") }).to be_within(program.cpu * 0.1).of(truth)
    end
  end

  # No promise, but a number for docs/numbers.md: what is left of the truth where there are no signals.
  ENV["FIGURES"] && it("shows what engine safepoint makes of it") do
    program = ProfiledProgram.run(neighbours, folder: tmpdir, engine: "safepoint")
    say "safepoint, #{mode}", *neighbour_shares(program)
    expect(program.cpu).to be_within(program.truth["all"] * 0.02).of(program.truth["all"])
    program = ProfiledProgram.run(standard_library, folder: tmpdir, engine: "safepoint")
    say "safepoint, #{mode}", *library_shares(program, leaves)
  end
end
