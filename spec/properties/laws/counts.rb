# frozen_string_literal: true

module Properties
  class Laws
    # Conservation of what is counted: samples of the program's own, objects, waits for each other, calls.
    class Counts
      END_OBJECTS = 40_000 # what a process may create after its last look: who writes the profile down creates them, too
      SOME_OBJECTS = 3_000 # of start and stop

      def initialize(lives)
        @lives = lives
      end

      # @return [Array<String>]
      def breaches
        [(things if (modes & %i[cpu wall]).any?), (objects if modes.include?(:alloc)), *(contentions if modes.include?(:contention)), *(calls if modes.include?(:calls))].compact
      end

      private

      def modes = @lives.modes
      def seen = @lives.seen
      def breach(what, got, low, high = low) = got.between?(low, high) ? nil : "#{what}: #{got}, true is #{[low, high].uniq.join(" to ")}"

      def things
        low, high = %i[told? reached?].map { |which| @lives.parts.values.select { |part| @lives.public_send(which, part.number) }.sum { |part| things_of(part) } }
        breach("samples of its own", seen.sum(:things), @lives.whole? ? low : 0, high)
      end

      def things_of(part) = part.threads.flatten.select { |one| one.kind == :count }.sum { |one| 3 * one.amount }

      # --- objects

      def objects
        low, high = @lives.inner? ? objects_inside : objects_of_processes
        breach("objects of all", seen.sum(:alloc_objects), (low * 0.99).floor, (high * 1.01).ceil)
      end

      def objects_inside = @lives.facts.find { |fact| fact[:objects_inside] }[:objects_inside].then { |low, high| [low, high + SOME_OBJECTS] }

      # A forked child's counter begins with that of its parent.
      def objects_of_processes
        ended = @lives.facts.select { |fact| fact[:objects] }
        asked = told_tasks.sum { |_, task| %i[allocate keep].include?(task.kind) ? task.amount : 0 }
        [asked, ended.sum { |fact| fact[:objects] + END_OBJECTS }]
      end

      def told_tasks = @lives.told.flat_map { |life| life[:tasks].map { |number, *| [number, @lives.task(number)] } }

      # --- waits for each other

      # A thread that waits leaves its core.
      def contentions
        switches = @lives.all.sum { |life| life[:switches] }
        total = seen.sum(:contentions)
        ["contentions of all: #{total}, its threads left their cores #{switches} times", *each_wait].drop(total <= switches ? 1 : 0)
      end

      # A wait for an item that is not too short to be sure of counts one; a sleep and a wait for input count nothing, but that another
      # thread has the GVL at their end. The end of a child wakes the main thread, which then waits again.
      def each_wait
        undisturbed = @lives.told.reject { |life| life[:thread].zero? && @lives.parts[life[:part]].children.any? }
        undisturbed.flat_map { |life| life[:tasks] }.filter_map do |number, *|
          task = @lives.task(number)
          wanted = { pop: 1, sleep: 0, read: 0 }[task.kind]
          next if wanted.nil? || task.amount * 1e9 < 4 * seen.period_ns

          got = seen.sum(:contentions) { |sample| sample.tasks.include?([number]) && sample.state == "blocked" }
          breach("waits of task #{number} (#{task.kind})", got, wanted)
        end
      end

      # --- calls

      # Each task is a method that is called once, and what a fiber does is called twice.
      def calls
        counts = seen.samples.group_by { |sample| sample.leaf[/\btask_\d+(?:_of_\w+)?\z/] }.transform_values { |samples| samples.sum(&:calls) }
        @lives.told.flat_map do |life|
          life[:tasks].flat_map do |number, *|
            within_fiber = "task_#{number}_of_part_#{life[:part]}_thread_#{life[:thread]}"
            [breach("calls of task #{number}", counts["task_#{number}"] || 0, 1),
             breach("calls in the fiber of task #{number}", counts[within_fiber] || 0, @lives.task(number).kind == :fiber ? 2 : 0)]
          end
        end
      end
    end
  end
end
