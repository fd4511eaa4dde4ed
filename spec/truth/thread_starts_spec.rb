# frozen_string_literal: true

require_relative "../support/profiled_program"

# A thread counts once it runs, and from its start on.
RSpec.describe "Thread starts", :interpreted, :quick do
  # A thread's stack does not fit any more, all else does. A limit on processes would not hold for root.
  failing = <<~RUBY
    def kibibytes(name) = File.read("/proc/self/status")[/^\#{name}:\\s+(\\d+)/, 1].to_i

    # How many of these threads could not be created.
    def fail_to_create(count)
      usual = Process.getrlimit(:AS)
      Process.setrlimit(:AS, kibibytes("VmSize") * 1024 + 256 * 1024 * 1024, usual.last)
      count.times.count { Thread.new { sleep }.nil? rescue ThreadError }
    ensure
      Process.setrlimit(:AS, *usual)
    end
  RUBY
  huge_stacks = { "RUBY_THREAD_MACHINE_STACK_SIZE" => (1024 * 1024 * 1024).to_s }

  creating_none = <<~RUBY
    #{failing}
    Truth.profile do
      fail_to_create(2_000) # what the first ones need stays
      before = kibibytes("VmRSS")
      Truth[:failures] = fail_to_create(10_000)
      Truth[:grown] = kibibytes("VmRSS") - before
      Truth[:known] = RperfPush.stats[:threads_known]
      GC.start # the objects of those that never ran are gone, and others in their place
      Array.new(100_000) { Object.new }
      Thread.new { RperfPush.label(ran: "yes"); sleep 0.6 }.join
      RperfPush.flush
    end
  RUBY

  # Ruby 3.3 itself, without us: after one thread that it could not create, whoever lets go of the GVL never gets it back.
  survives = Gem::Version.new(RUBY_VERSION) >= Gem::Version.new("3.4")
  survives && with_each_engine(creating_none, upload_interval: 0.5, env: huge_stacks) do
    it "leave nothing behind where the system has no thread to give" do
      expect(truth).to include("failures" => 10_000, "known" => 1)
      expect(truth["grown"]).to be < 10_000
      expect(program.samples.filter_map(&:thread).uniq.size).to eq(2)
      expect(program.wall).to be <= program.windows.sum(&:duration_nanos) * 2
    end
  end

  # The first turn of a thread comes when the main one lets go of the GVL; windows end meanwhile.
  with_each_engine(<<~RUBY, upload_interval: 0.05) do
    Truth.profile do
      RperfPush.label(role: "main")
      threads = Array.new(20) do
        born = Truth.wall
        Thread.new do
          waited = Truth.wall - born
          RperfPush.label(role: "born")
          sleep 0.1
          [waited, Truth.wall - born]
        end
      end
      stop = Truth.wall + 400_000_000
      nil while Truth.wall < stop
      Truth[:waits], Truth[:lives] = threads.map(&:value).transpose.map(&:sum)
      RperfPush.flush
    end
  RUBY
    it "give a thread the time that it waits for its first turn, in the windows in which it does", :measures do
      lives = program.wall_of_threads { |sample| sample.labels["role"] == "born" }
      expect(truth["waits"]).to be > 20 * 40_000_000
      expect(lives).to be_within(truth["lives"] * 0.05).of(truth["lives"])
      program.windows.each do |window|
        threads = program.in_window(window).group_by(&:thread).except(nil)
        expect(threads.transform_values { |samples| samples.sum(&:wall) }.values.max).to be <= window.duration_nanos
      end
    end
  end
end
