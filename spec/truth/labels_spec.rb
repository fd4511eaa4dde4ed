# frozen_string_literal: true

require_relative "../support/profiled_program"

# The time of a fiber is under the labels of that fiber, from the moment they are set: no tick shows a method under labels it never
# had. How much of a thread's time is whose is sampled.
RSpec.describe "Labels", :measures, :interpreted do
  # Each kind of work has a method of its own, so that the stack says where the time was really spent.
  alternating = <<~RUBY
    def burn(seconds)
      stop = Truth.wall + seconds * 1_000_000_000
      nil while Truth.wall < stop
    end

    def as_a = burn(0.0003)
    def as_b = burn(0.0003)
    def as_none = burn(0.0003)

    def timed(name)
      cpu, wall = Truth.thread_cpu, Truth.wall
      yield
      Truth["cpu " + name] += Truth.thread_cpu - cpu
      Truth["wall " + name] += Truth.wall - wall
    end

    Truth.profile do
      timed("all") do
        2500.times do
          timed("around a") { RperfPush.label(step: "a") { timed("in a") { as_a } } }
          as_none
          timed("around b") { RperfPush.label(step: "b") { timed("in b") { as_b } } }
          as_none
        end
      end
    end
  RUBY

  fibers = <<~RUBY
    require "async"

    def burn(seconds)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      nil while Truth.thread_cpu < stop
    end

    TASKS = 5
    TASKS.times { |i| define_method(:"task_\#{i}") { burn(0.01) } } # long enough for what the switch takes not to count
    def outside = burn(0.002)
    def enumerated = burn(0.002)
    def resumed = burn(0.002)
    def in_thread = burn(0.002)
    def in_thread_of_its_own = burn(0.002)

    Truth.profile do
      Async do
        TASKS.times do |i|
          Async do
            RperfPush.label(task: i) do
              100.times { Truth.spend(i) { send(:"task_\#{i}") }; sleep 0.0001 }
            end
          end
        end
        100.times { outside; sleep 0.0001 }
      end

      enumerator = RperfPush.label(made: "enumerator") do
        Enumerator.new { |y| loop { enumerated; y << 1 } }.tap(&:next)
      end
      fiber = RperfPush.label(made: "fiber") { Fiber.new { loop { resumed; Fiber.yield } } }
      RperfPush.label(made: "nowhere") do
        100.times { enumerator.next; fiber.resume; outside }
      end

      RperfPush.label(started: "inside") do
        threads = [Thread.new { 100.times { in_thread } },
                   Thread.new { RperfPush.label(started: "its own") { 100.times { in_thread_of_its_own } } }]
        RperfPush.label(started: nil) { 50.times { outside } }
        threads.each(&:join)
      end
    end
  RUBY

  %w[signal safepoint].each do |engine|
    context "with engine #{engine}" do
      # CPU time by [method, label], where the stack holds one of the methods.
      def by_method_and_label(program, pattern, key, &)
        samples = block_given? ? program.samples.select(&) : program.samples
        samples.each_with_object(Hash.new(0)) do |sample, sums|
          frame = sample.names.grep(pattern).first
          sums[[frame, sample.labels[key]]] += sample.cpu if frame && sample.cpu.positive?
        end
      end

      # All of these, and at most 1 % of the time anything else.
      def expect_mostly(sums, *keys)
        expect(sums.keys).to include(*keys)
        expect(sums.except(*keys).values.sum).to be <= sums.values.sum * 0.01, sums.inspect
      end

      it "change at once" do
        program = ProfiledProgram.run(alternating, folder: tmpdir, engine:, frequency: 250)
        sums = by_method_and_label(program, /#as_/, "step") { |sample| sample.state == :running }
        right = sums.slice(["Object#as_a", "a"], ["Object#as_b", "b"], ["Object#as_none", nil]).values.sum
        expect(right).to be > sums.values.sum * 0.99

        %w[cpu wall].each do |type|
          truth = ->(name) { program.truth["#{type} #{name}"] }
          %w[a b].each do |name|
            found = program.public_send(type) { |sample| sample.labels["step"] == name }
            error = sampling_error(truth["in #{name}"], all: truth["all"], frequency: 250) + (truth["all"] * 0.005)
            expect(found).to be_between(truth["in #{name}"] - error, truth["around #{name}"] + error)
          end
        end
      end

      it "follow fibers and threads, and leak to none" do
        program = ProfiledProgram.run(fibers, folder: tmpdir, engine:, frequency: 250)
        expect(program.status).to be_success, program.log

        tasks = by_method_and_label(program, /#task_/, "task")
        5.times do |i|
          truth = program.truth[i.to_s]
          error = (truth * 0.02) + sampling_error(truth, frequency: 250)
          expect(program.cpu { |sample| sample.labels["task"] == i.to_s }).to be_within(error).of(truth)
        end
        wrong = tasks.reject { |(method, label), _| method == "Object#task_#{label}" }
        expect(wrong.values.sum).to be <= tasks.values.sum * 0.01

        made = by_method_and_label(program, /#(enumerated|resumed)\z/, "made")
        expect_mostly(made, ["Object#enumerated", "enumerator"], ["Object#resumed", "fiber"])
        started = by_method_and_label(program, /#in_thread/, "started")
        expect_mostly(started, ["Object#in_thread", "inside"], ["Object#in_thread_of_its_own", "its own"])
        outside = by_method_and_label(program, /#outside\z/, "made")
        expect_mostly(outside, ["Object#outside", nil], ["Object#outside", "nowhere"])
        expect_mostly(by_method_and_label(program, /#outside\z/, "task"), ["Object#outside", nil])
      end
    end
  end
end
