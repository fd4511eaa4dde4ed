# frozen_string_literal: true

require_relative "truth"

# Sweeps operations and says what was wrong.
class Sweeper
  def initialize(options)
    @options = options
    @operations = Operations.new
  end

  # All are swept before the VM's events are listened to: that throws compiled code away.
  #
  # @return [Hash{Symbol => Hash}] of each operation: its account, and what was wrong
  def run(names)
    swept = names.to_h { |name| [name, sweep(name)] }
    swept.to_h { |name, reports| [name, Judgement.new(name, reports, truth_of(name)).to_h] }
  end

  private

  def sweep(name)
    options = Operations.all.fetch(name)
    options[:turns].times { call(name) }
    warn "sweeping #{name}" if ENV["SWEEP_VERBOSE"]
    began = now
    Array.new(@options[:rounds]) do |round|
      RperfPush::Native.sweep(limits(options, round)) { call(name) }.then { |it| it.merge(seconds: now - began, cut: it[:steps] >= @options[:steps]) }
    end
  end

  def limits(options, round)
    limits = { steps_max: @options[:steps], code: Burner.code.values }
    options[:long] ? limits.merge(burst: @options[:burst], gap_ns: @options[:gap], seed: @options[:seed] + round) : limits
  end

  def call(name) = @operations.public_send(name)

  def truth_of(name)
    return if Operations.all.fetch(name)[:alone]

    truth = Truth.new
    3.times { truth.listen { call(name) } }
    truth
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# What is wrong with the reports of an operation.
class Judgement
  SHOWN = 5

  def initialize(name, reports, truth)
    @options = Operations.all.fetch(name)
    @reports = reports
    @truth = truth
  end

  def to_h
    { steps: sum(:steps), cut:, outcomes: merge(:outcomes), changes: merge(:changes), seconds: @reports.last[:seconds].round(2), changing:, wrong: }
  end

  private

  def cut = @reports.count { |report| report[:cut] }
  def sum(key) = @reports.sum { |report| report[key] }
  def merge(key) = @reports.map { |report| report[key] }.inject { |a, b| a.merge(b) { |_, x, y| x + y } }.reject { |_, n| n.zero? }

  # An operation that was stepped through from its begin to its end.
  def complete? = RperfPush::Native.steps? && !@options[:long] && cut.zero?

  # The functions in which the walk found the stack being changed, the most frequent first.
  def changing
    @reports.flat_map { |report| report[:changing] }.each_with_object(Hash.new(0)) { |(symbol, count), all| all[symbol] += count }
            .max_by(SHOWN) { |_, count| count }.to_h
  end

  def wrong
    [impossible_changes, needless_waits, untrue_stacks, idle_leaves, miscounted_calls, unseen_stacks, foreign_code, lines_elsewhere].flatten(1)
  end

  SWITCHES = %w[Fiber#resume Fiber.yield Fiber#transfer Fiber#raise Enumerator#next].freeze

  # Fibers of one operation may have their roots in common.
  def impossible_changes
    changes = @reports.flat_map { |report| report[:wrong] }
    changes.reject { |what, _, before, now| what == "a change that cannot be" && [before, now].any? { |names| SWITCHES.include?(names.last) } }.first(SHOWN)
  end

  # What stays on one stack is found whatever happens to it; a new fiber has none yet.
  def needless_waits
    count = merge(:outcomes).fetch("stack changing", 0)
    @truth&.one_stack? && count > 0 ? [["waited for a stack that was there", count, changing]] : []
  end

  def stacks
    @stacks ||= @reports.flat_map { |report| report[:stacks] }.map { |names, on_base, leaves_only, seen| Stack.new(names, on_base, leaves_only, seen) }
  end

  def untrue_stacks
    return [] unless @truth

    stacks.reject { |stack| @truth.include?(stack, @options[:apart]) }.first(SHOWN).map { |stack| ["no such stack", stack.seen, stack.names] }
  end

  # Every method that the VM told of was the leaf at some instruction.
  def unseen_stacks
    return [] unless @truth && complete?

    seen = stacks.to_set(&:names)
    @truth.ruby_stacks.reject { |names| seen.include?(names) || @options[:unseen].include?(names.last) }.first(SHOWN)
          .map { |names| ["never seen", names] }
  end

  def idle_leaves
    return [] unless complete?

    at_leaf = by_method { |_, _, _, _, as_leaf| as_leaf }
    @options[:busy].filter_map { |name, least| ["too rarely the leaf", name, at_leaf[name], least] if at_leaf[name] < least * @reports.size }
  end

  # A frame that the walk passes over for some instructions is missing when it is called, or is there twice.
  def miscounted_calls
    return [] unless complete?

    calls = by_method { |*, calls| calls }
    wanted = @options[:calls].transform_values { |count| count * @reports.size }
    wanted.filter_map { |name, count| ["calls seen", name, calls[name], count] if calls[name] != count }
  end

  def by_method
    @reports.flat_map { |report| report[:frames] }.each_with_object(Hash.new(0)) { |frame, all| all[frame.first] += yield(*frame) }
  end

  # At the instructions of a C function its method is the leaf.
  def foreign_code
    @reports.flat_map { |report| Burner.code.keys.zip(report[:code]) }.filter_map do |name, (steps, leaf)|
      ["C code of another method", name, leaf] if steps > 0 && leaf != "Burner.#{name}"
    end
  end

  def lines_elsewhere
    @reports.flat_map { |report| report[:frames] }.filter_map do |name, path, first, _, _, least, greatest|
      last = Lines.last_of(path, first)
      ["lines of another method", name, first, last, least, greatest] if last && least > 0 && (least < first || greatest > last)
    end
  end
end

# Where methods end in files.
module Lines
  @files = {}

  # @return [Integer, nil] the last line of the longest code that begins at a line; nil if none is known
  def self.last_of(path, first)
    return unless path&.start_with?("/") && File.exist?(path)

    (@files[path] ||= ends_in(RubyVM::InstructionSequence.compile_file(path)))[first]
  end

  def self.ends_in(iseq, ends = {})
    first, _, last, = iseq.to_a[4][:code_location]
    ends[first] = [ends[first], last].compact.max
    iseq.each_child { |child| ends_in(child, ends) }
    ends
  end
  private_class_method :ends_in
end
