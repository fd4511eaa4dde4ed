# frozen_string_literal: true

require "json"
require "rperf_push"

# The rows of `stat`, beside what the kernel and Ruby tell the processes themselves.
RSpec.describe "rperf-push stat", :once, :waiting do
  include CommandLine

  before { skip "no /proc here" unless File.exist?("/proc/self/io") }

  # Each process says what it did: the main thread's switches are all but ours, and what was written is its children's, too.
  code = <<~'RUBY'
    require "json"
    def numbers(path) = File.read("/proc/self/#{path}").scan(/^(\w+):\s+(\d+)/).to_h { |name, number| [name, number.to_i] }

    def now
      fields = File.read("/proc/self/stat").rpartition(") ").last.split.map(&:to_i)
      switches = numbers("status").values_at("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
      { switches: switches[0], pushed_off: switches[1], faults: fields[7] + fields[9], written: numbers("io")["write_bytes"], gc: GC.stat(:count), major: GC.stat(:major_gc_count),
        objects: GC.stat(:total_allocated_objects), peak: numbers("status")["VmHWM"] }
    end

    def said
      before = now
      yield
      now.to_h { |name, value| [name, name == :peak ? value : value - before[name]] }
    end

    def work(name)
      from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - from < 0.3
      30.times { sleep 0.001 }
      5.times { GC.start }
      50_000.times { Object.new }
      File.open("#{__dir__}/#{name}", "wb") { |file| file << ("a" * 40_000_000); file.fsync }
    end

    GC.disable # but for what is asked for
    reader, writer = IO.pipe
    root = said do
      Process.wait(fork { writer.puts(JSON.generate(said { work("child") })) }) if ARGV.first == "child"
      work("root")
    end
    writer.close
    puts JSON.generate([root, *reader.read.lines.map { |line| JSON.parse(line) }])
  RUBY

  # @return [Array] the rows' numbers, and of the processes what they said
  define_method(:rows_and_processes) do |*arguments|
    File.write(program = "#{tmpdir}/known.rb", code)
    ended = rperf_push("stat", *arguments, "ruby", program, "child", env: { "TMPDIR" => tmpdir })
    expect(ended.status).to eq(0)
    rows = ended.err.scan(/^ +([\d,.]+) (?:ms|MB|  ) +\[(?:Ruby|OS) +\] ([a-zA-Z][\w \/]*?) (?:\((.*)\))?$|^ +([\d,.]+) (?:ms|MB|  ) +\[(?:Ruby|OS) +\] (.*)$/)
    numbers = rows.to_h { |one, name, parts, other, title| [name || title, [one || other, *parts.to_s.scan(/\d[\d,]*/)].map { |number| number.delete(",").to_i }] }
    [numbers, JSON.parse(ended.out, symbolize_names: true)]
  end

  # What is counted between the session's begin and the program's, and at the ends, is little.
  def be_all_of(processes, name, more: 0) = be_between(*processes.sum { |one| one[name] }.then { |sum| [sum, sum + (more * processes.size)] })

  { "of a program and its child" => [[], 2], "of the program alone with --no-inherit" => [["--no-inherit"], 1] }.each do |what, (options, count)|
    it "has the counters #{what}, and none of ours", :aggregate_failures do
      rows, all = rows_and_processes(*options)
      counted = all.first(count)
      expect(all.size).to eq(2)
      expect(rows["GC time"].drop(1)).to match([be_all_of(counted, :gc, more: 2), Integer, be_all_of(counted, :major, more: 2)])
      expect(rows["allocated objects"].first).to be_all_of(counted, :objects, more: 10_000)
      expect(rows["page faults"].first).to be_all_of(counted, :faults, more: 4000)
      expect(rows["context switches"][1]).to be_all_of(counted, :switches, more: 50)
      expect(rows["peak memory"].first).to be_within(2).of(counted.map { |one| one[:peak] }.max / 1024)
      written = all.first[:written] - (count == 1 ? all.last[:written] : 0)
      expect(rows["disk I/O"].last).to be_within(1).of(written / 1024 / 1024)
    end
  end

  # @return [Hash{String => Float}] milliseconds, or numbers of objects
  def numbers_of(said) = said.scan(/^ +([\d,.]+) (?:ms|  ) +(?:[\d.]+%  )?\[(?:RperfPush|Ruby +)\] +(?:[\d.]+%  )?(.*)$/).to_h { |number, name| [name, number.delete(",").to_f] }

  it "tells computing from waiting for a core" do
    skip "no taskset here" unless system("taskset", "--version", out: File::NULL, err: File::NULL)
    core = File.read("/proc/self/status")[/^Cpus_allowed_list:\s+(\d+)/, 1]
    File.write(program = "#{tmpdir}/crowded.rb", <<~RUBY)
      def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      other = spawn("ruby", "-e", "loop {}")
      from = now
      nil while now - from < 0.4
      Process.kill(:KILL, other)
      Process.wait(other)
      puts now - from
    RUBY
    ended = rperf_push("stat", "--no-inherit", "-o", "#{tmpdir}/crowded.json", "taskset", "-c", core, "ruby", program, env: { "TMPDIR" => tmpdir })
    rows = numbers_of(ended.err)
    expect(rows["CPU execution"]).to be_between(380, 550)
    expect(rows["waiting for a core, or blocked with the GVL"]).to be > 200
    data = RperfPush.load("#{tmpdir}/crowded.json")
    expect([RperfPush::Values.names(data), data[:aggregated_samples].sum { |sample| sample[1] } / 1e6]).to match([[:wall], be > 580])
  end

  it "has the classes of the objects, and a file without them" do
    File.write(program = "#{tmpdir}/objects.rb", <<~RUBY)
      # frozen_string_literal: true
      class Book; end
      class Page; end
      from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - from < 1.5
        1000.times { Book.new; Page.new; Book.new; Book.new }
      end
    RUBY
    { "wall" => [], "cpu" => %w[--class-labels] }.each do |mode, options|
      ended = rperf_push("stat", "-m", mode, *options, "-o", "#{tmpdir}/objects.json", "ruby", program, env: { "TMPDIR" => tmpdir })
      rows = numbers_of(ended.err)
      books, pages, all = rows.values_at("Book", "Page", "allocated objects")
      expect((books + pages) / all).to be_between(0.9, 1.001)
      expect(books / pages).to be_between(1.5, 7) # 3, by some 300 samples
      expect(rows.keys.grep(/#|main/)).to eq([]) # methods
      expect(RperfPush.load("#{tmpdir}/objects.json")).to include(mode: mode.to_sym).and(satisfy { |data| RperfPush::Values.names(data).one? })
    end
  end

  it "has the classes of what is alive, where it is asked for" do
    File.write(program = "#{tmpdir}/kept.rb", <<~RUBY)
      class Kept; end
      class Gone; end
      KEPT = Array.new(3000) { Kept.new }
      5000.times { Gone.new }
      GC.start
    RUBY
    [[], %w[--class-labels]].each do |options|
      ended = rperf_push("stat", "-m", "heap", "--alloc-interval", "1", *options, "ruby", program, env: { "TMPDIR" => tmpdir })
      expect(numbers_of(ended.err)).to include("Gone" => 5000)
      alive = ended.err[/objects alive at the last GC.*?detected threads/m]
      expect(alive).to match(/\A.* \(\d+ KB\)\n +3,000 .*% +Kept\n/)
      expect(alive).not_to include("Gone")
    end
    expect(rperf_push("stat", "ruby", program, env: { "TMPDIR" => tmpdir }).err).not_to include("alive")
  end

  describe "of what the program counts itself" do
    before do
      File.write("#{tmpdir}/counts.rb", <<~'RUBY')
        require "rperf_push"
        def now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
        from = now
        nil while now - from < 0.2
        RperfPush.declare(:retries, unit: "tries")
        20.times { RperfPush.sample(3, name: :retries) }
        sleep 0.3
      RUBY
    end

    # @return [Array] what it said, and the file that it wrote
    def stat(modes)
      ended = rperf_push("stat", "-m", modes, "--report", "-o", "#{tmpdir}/counts.json", "ruby", "#{tmpdir}/counts.rb", env: { "TMPDIR" => tmpdir })
      expect(ended.status).to eq(0), ended.all
      [ended.err, RperfPush.load("#{tmpdir}/counts.json")]
    end

    it "names each number as it is, in whichever order the modes are typed" do
      said, data = stat("wall,cpu")
      expect(data[:mode]).to eq(%i[cpu wall])
      cpu, wall = %i[cpu wall].map { |name| RperfPush::Values.sums(data, name) { nil }[nil] / 1e9 }
      expect([cpu, wall, said[/^ +([\d.]+) ms .*CPU execution$/, 1].to_f / 1e3]).to match([be_between(0.15, 0.35), be > cpu + 0.25, be_within(0.03).of(cpu)])
      expect(stat("alloc,cpu").last).to include(mode: %i[cpu alloc], values: include(:alloc_objects))
    end

    it "says counts with their unit, and no CPU time that was not asked for" do
      said, data = stat("custom")
      expect(data).to include(mode: :retries, units: { retries: "tries" })
      expect(said).to match(/^ +60 tries 100\.0%  /)
      expect(said).not_to match(/CPU execution|\d ms +[\d.]+%/)
    end
  end
end
