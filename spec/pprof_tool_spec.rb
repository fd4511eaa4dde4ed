# frozen_string_literal: true

# What `go tool pprof` makes of a file of the directory backend.
RSpec.describe "go tool pprof", :once do
  before(:all) do
    @folder = Dir.mktmpdir("rperf-push-")
    @program = "#{@folder}/work.rb"
    File.write(@program, <<~'RUBY')
      class Work
        def search(seconds)
          burn(seconds)
        end

        def render(seconds) = burn(seconds)

        def wait(seconds)
          sleep(seconds)
        end

        private

        def burn(seconds)
          till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
          nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
        end
      end

      RperfPush.configure! { |config| config.application_name = "work" }
      RperfPush.label(endpoint: "GET /search") { Work.new.search(0.6) }
      RperfPush.label(endpoint: "GET /pages/:id") { Work.new.render(0.3) }
      Work.new.wait(0.4)
    RUBY
    env = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => @folder }
    _, err, status = run_ruby("load #{@program.dump}", env:)
    raise err unless status.success?

    @files = Dir["#{@folder}/*.pb.gz"]
  end

  after(:all) { FileUtils.rm_rf(@folder) }

  def pprof(*options)
    env = { "PPROF_TMPDIR" => @folder, "PPROF_BINARY_PATH" => @folder }
    out, err, status = run_program(["go", "tool", "pprof", *options, *@files], env:)
    expect(status).to be_success, err
    expect(err).not_to match(/error|warning|invalid|malformed/i)
    out
  end

  # "0.61s" or "612.34ms", in seconds
  def seconds(text)
    number, unit = text.match(/([\d.]+)(ns|us|µs|ms|s)/).captures
    number.to_f * { "s" => 1, "ms" => 1e-3, "ns" => 1e-9 }.fetch(unit, 1e-6)
  end

  # name => [flat, cum] in seconds
  def table(text)
    text.scan(/^ *(\S+) +\S+ +\S+ +(\S+) +\S+  (\S.*)$/).to_h { |flat, cum, name| [name, [flat, cum].map { |time| time == "0" ? 0.0 : seconds(time) }] }
  end

  it "names the file after the program" do
    expect(@files).to all(match(%r{/work-\d{8}T\d{6}\.\d{3}Z-\d+-\d+\.pb\.gz\z}))
  end

  it "ranks methods by CPU time with -top, without being told which type", :measures do
    out = pprof("-top", "-nodecount=100", "-nodefraction=0")
    expect(out).to match(/^Type: cpu$/).and match(/^rperf-push \d/)
    rows = table(out)
    expect(rows["Work#search"].last).to be_within(0.15).of(0.6)
    expect(rows["Work#render"].last).to be_within(0.15).of(0.3)
    expect(rows["Work#burn"].last).to be_within(0.2).of(0.9)
    expect(rows.fetch("Work#wait", [0, 0]).last).to be < 0.05
    expect(rows.keys.first).to eq("Work#burn").or eq("Process.clock_gettime")
  end

  it "shows waiting with -sample_index=wall", :measures do
    rows = table(pprof("-top", "-sample_index=wall"))
    expect(rows["Work#wait"].last).to be_within(0.1).of(0.4)
    expect(rows["Kernel#sleep"].first).to be_within(0.1).of(0.4)
  end

  it "shows times beside the source with -list", :measures do
    out = pprof("-list=Work#search")
    line = out.lines.find { |text| text.include?("burn(seconds)") }
    expect(seconds(line.split[1])).to be_within(0.15).of(0.6)
    expect(line).to match(/ 3: /)
    expect(out).to include("ROUTINE ======================== Work#search in #{@program}")
  end

  it "lists labels with -tags" do
    out = pprof("-tags", "-sample_index=wall")
    expect(out).to match(/endpoint: Total .*GET \/search.*GET \/pages\/:id/m)
    expect(out).to match(/gvl_state: Total .*: blocked/m)
    expect(out).to match(/thread_seq: Total .*: 1$/m)
  end

  it "keeps what a label leads to with -tagfocus", :measures do
    rows = table(pprof("-top", "-tagfocus=endpoint=GET /search"))
    expect(rows["Work#search"].last).to be_within(0.15).of(0.6)
    expect(rows).not_to include("Work#render")
  end

  it "shows the profile itself with -raw" do
    out = pprof("-raw")
    expect(out).to match(%r{^PeriodType: cpu nanoseconds$}).and match(/^Period: 10101010$/)
    expect(out).to match(%r{^cpu/nanoseconds\[dflt\] wall/nanoseconds$})
    expect(out).to include("M=1 Work#search #{@program}:3 s=2()")
    expect(out).to match(/^Mappings\n1: 0x0\/0x0\/0x0 \S+ .*\[FN\]\[FL\]\[LN\]/)
  end
end
