# frozen_string_literal: true

module Properties
  # One thing that a thread does, in a method of its own. `amount` is in seconds, or a number of objects or of samples.
  Task = Data.define(:number, :kind, :amount, :labelled)
  # Threads are lists of tasks; the first one is the main thread. Children begin before the threads, and are waited for after them.
  Part = Data.define(:number, :threads, :children, :ending)
  # How a process comes to be, and what it is.
  Child = Data.define(:how, :part)
  # What is around the program.
  World = Data.define(:encodings, :locale, :umask, :rubyopt, :homeless)

  # A program whose truth is known, as data: all of it follows from the seed, and less of it is a plan as well.
  #
  # `engine` is that of the sampler, where the way to profile has a say in it.
  Plan = Data.define(:seed, :engine, :world, :root) do
    # @return [Array<Part>] each process, parents first
    def parts = Plan.within(root)
    # @return [Array<Task>]
    def tasks = parts.flat_map { |part| part.threads.flatten }

    def self.within(part) = [part, *part.children.flat_map { |child| within(child.part) }]

    # @return [Array<Plan>] each with one thing less
    def smaller
      [*Shrinking.of(root).map { |root| with(root:) }, *(with(world: PLAIN) unless world == PLAIN)]
    end

    PLAIN = World.new(encodings: nil, locale: "C.UTF-8", umask: 0o022, rubyopt: nil, homeless: false)
  end

  # What can be taken away from a process: a child, a thread, a task, or an odd ending.
  module Shrinking
    module_function

    def of(part)
      [*without_each(part.children).map { |children| part.with(children:) }, *with_smaller_child(part),
       *without_each(part.threads.drop(1)).map { |rest| part.with(threads: [part.threads.first, *rest]) },
       *with_shorter_thread(part), *(part.with(ending: :return) unless part.ending == :return)]
    end

    def without_each(list) = list.each_index.map { |at| list[0...at] + list[(at + 1)..] }
    def with_each(list) = list.each_index.flat_map { |at| yield(list[at]).map { |one| [*list[0...at], one, *list[(at + 1)..]] } }

    def with_smaller_child(part)
      with_each(part.children) { |child| of(child.part).map { |smaller| child.with(part: smaller) } }.map { |children| part.with(children:) }
    end

    def with_shorter_thread(part)
      with_each(part.threads) { |tasks| tasks.size > 1 ? without_each(tasks) : [] }.map { |threads| part.with(threads:) }
    end
  end

  # Draws a plan. The ranges are wide enough for each way to end a wait, and short enough for many programs in a minute.
  class Draw
    AMOUNTS = {
      compute: 0.005..0.25, in_c: 0.005..0.15, off_gvl: 0.005..0.15, sleep: 0.0..0.4, pop: 0.0..0.3, condition: 0.0..0.3, mutex: 0.001..0.1,
      read: 0.001..0.2, allocate: 1_000..60_000, keep: 1_000..20_000, raise: 0.005..0.1, evaluate: 0.005..0.1, fiber: 0.005..0.1,
      many_sleeps: 0.01..0.2, count: 1..50, mood: 1..9
    }.freeze
    LONG_SLEEP = 3.0..15.0
    ENDINGS = %i[return status exit! exception abort signal exec].freeze
    HOWS = %i[fork spawn double_fork exec system daemon].freeze
    ENGINES = %w[signal safepoint].freeze
    ENCODINGS = [nil, "UTF-8:UTF-8", "ASCII-8BIT", "Windows-1252", "EUC-JP:UTF-8"].freeze
    LOCALES = [nil, "C", "C.UTF-8"].freeze
    # Warnings of ours would be among the program's errors, and a String that is changed in place would raise.
    RUBYOPTS = [nil, "-w", "--yjit", "--enable=frozen-string-literal", "-rset --disable=did_you_mean"].freeze

    def initialize(seed)
      @seed = seed
      @random = Random.new(seed)
      @tasks = @parts = -1
    end

    # @return [Plan]
    def plan
      world = World.new(encodings: pick(ENCODINGS), locale: pick(LOCALES), umask: pick([0o022, 0o077, 0o000]), rubyopt: pick(RUBYOPTS), homeless: one_in(8))
      root = part(depth: 0)
      Plan.new(seed: @seed, engine: pick(ENGINES), world:, root: one_in(12) ? slow(root) : root)
    end

    private

    def pick(list) = list[@random.rand(list.size)]
    def one_in(number) = @random.rand(number).zero?

    def part(depth:)
      number = @parts += 1
      threads = Array.new(1 + (one_in(2) ? 0 : @random.rand(4))) { Array.new(1 + @random.rand(4)) { task } }
      children = depth.zero? && one_in(2) ? Array.new(1 + @random.rand(2)) { Child.new(how: pick(HOWS), part: part(depth: depth + 1)) } : []
      Part.new(number:, threads:, children:, ending: one_in(2) ? :return : pick(ENDINGS))
    end

    def task
      kind = pick(AMOUNTS.keys)
      Task.new(number: @tasks += 1, kind:, amount: @random.rand(AMOUNTS.fetch(kind)), labelled: one_in(2))
    end

    # One wait that is longer than some windows.
    def slow(root)
      first, *rest = root.threads
      root.with(threads: [[*first, Task.new(number: @tasks += 1, kind: :sleep, amount: @random.rand(LONG_SLEEP), labelled: false)], *rest])
    end
  end
end
