# frozen_string_literal: true

require "rperf_push"
require_relative "support/pprof_profile"

# A deploy removes the folder of the release that still runs: programs that are started there go on, with us, too.
RSpec.describe "In a working folder that is gone", :once do
  include CommandLine

  work = <<~RUBY
    def work
      deadline = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.2
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < deadline
    end
  RUBY

  # Standard output, standard error and exit status of a command whose working folder is removed just before it begins.
  def in_no_folder(*command)
    FileUtils.mkdir_p("#{tmpdir}/release")
    run_program(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *command], env: CommandLine.silence, chdir: "#{tmpdir}/release")
  end

  def command(name, *arguments) = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, name, *arguments]

  it "a session keeps its paths" do
    program = "#{tmpdir}/session.rb"
    File.write(program, <<~RUBY)
      require "rperf_push"
      require "rperf_push/tags"
      #{work}
      RperfPush.start
      work
      print RperfPush::Tags.commit.inspect, RperfPush.stop[:aggregated_samples].any? { |frames, *| frames.any? { |path, name| path == __FILE__ && name == "Object#work" } }
    RUBY
    expect(in_no_folder(RbConfig.ruby, "-I", RubyProgram::LIB, program).first(2)).to eq(["{}true", ""])
  end

  it "record, stat and run do what they do elsewhere" do
    File.write("#{tmpdir}/work.rb", "#{work}work\nputs 'done'")
    out, err, status = in_no_folder(*command("record", "-o", "#{tmpdir}/profile.json.gz", "ruby", "#{tmpdir}/work.rb"))
    expect([out, err, status]).to match(["done\n", "", be_success])
    expect(RperfPush.load("#{tmpdir}/profile.json.gz")[:aggregated_samples].flat_map(&:first))
      .to include(start_with("#{tmpdir}/work.rb", "Object#work"))

    out, err, status = in_no_folder(*command("stat", "ruby", "#{tmpdir}/work.rb"))
    expect([out, err, status]).to match(["done\n", include("CPU execution"), be_success])

    out, err, status = in_no_folder(*command("run", "--directory", "#{tmpdir}/profiles", "ruby", "#{tmpdir}/work.rb"))
    expect([out, err.lines.size, status]).to match(["done\n", 1, be_success])
    expect(Dir["#{tmpdir}/profiles/*"].flat_map { |path| PprofProfile.read(path).function_names }).to include("Object#work")
  end

  it "a relative path is refused in one line" do
    _, err, status = in_no_folder(*command("record", "-o", "profile.json.gz", "ruby", "-e", "1"))
    expect([err, status.exitstatus]).to match([/\Arperf-push: record: [^\n]+\n\z/, 1])
    _, err, status = in_no_folder(*command("run", "--directory", "profiles", "ruby", "-e", "1"))
    expect([err, status.exitstatus]).to match([/\Arperf-push: run: [^\n]+working folder is gone[^\n]+\n\z/, 1])
  end
end
