# frozen_string_literal: true

require "rperf_push"
require "rperf_push/cli"

# Rails sets Encoding.default_internal, containers have no locale, and others choose one of their own: profiles are the same bytes, and
# nothing raises in the application.
RSpec.describe "Under any encoding", :interpreted do
  include CommandLine

  # The label and the method have characters that most of these encodings lack.
  program = <<~'RUBY'
    # encoding: utf-8
    require "rperf_push"
    require "rperf_push/viewer"
    def zähle_あ😀(seconds)
      from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
    end

    def known(data)
      all = data[:aggregated_samples].select { |frames, *| frames.any? { |_, name| name.dup.force_encoding("UTF-8") == "Object#zähle_あ😀" } }
      sets = all.map { |_, _, _, set| data[:label_sets][set.to_i].transform_values { |text| text.dup.force_encoding("UTF-8") } }
      [sets.any? { |set| set[:ort] == "Köln あ😀" }, sets.any? { |set| set.key?(:"%pid") }]
    end

    folder = ARGV.fetch(0)
    RperfPush.start(output: "#{folder}/größe.json.gz", verbose: true)
    RperfPush.label(ort: "Köln あ😀")
    zähle_あ😀(0.1)
    Process.wait(fork { zähle_あ😀(0.1) })
    child = $?.exitstatus
    data = RperfPush.stop
    raise "the child ended with #{child}" unless child.zero?

    known(data) == [true, true] or raise "what stop returns: #{known(data)}"
    known(RperfPush.load("#{folder}/größe.json.gz")) == [true, true] or raise "what start wrote"
    %w[json pb pb.gz json.gz collapsed txt].each do |ending|
      path = "#{folder}/p.#{ending}"
      RperfPush.save(path, data)
      next if %w[collapsed txt].include?(ending)

      known(RperfPush.load(path)) == [true, true] or raise ending
    end
    viewer = RperfPush::Viewer.new(->(_) { [404, {}, []] })
    zähle_あ😀(0.1)
    viewer.take_snapshot!
    RperfPush.shutdown
    puts "done"
  RUBY

  ways = ["-E UTF-8:UTF-8", "-E ASCII-8BIT", "-E US-ASCII", "-E US-ASCII:UTF-8", "-E EUC-JP:UTF-8", "-E UTF-8:EUC-JP", ""]

  # Each way in a process of its own, all at once.
  def each_way(ways, command)
    ways.map { |flags| Thread.new { [flags, command.call(flags)] } }.map(&:value)
  end

  it "a session is saved, read, inherited and shown as it is" do
    File.write("#{tmpdir}/program.rb", program)
    ended = each_way(ways, lambda do |flags|
      folder = Dir.mktmpdir("encoding", tmpdir)
      command = [RbConfig.ruby, *flags.split, "-I", RubyProgram::LIB, "#{tmpdir}/program.rb", folder]
      out, err, status = run_program(command, env: { "LC_ALL" => "C" })
      [out.b, err.b.lines.grep_v(/\A\[RperfPush\]/).grep(/Error/), status.exitstatus, Dir["#{folder}/*.tmp"], Dir["#{folder}/*"].map { |path| File.stat(path).mode & 0o777 }.uniq]
    end)
    expect(ended.to_h).to eq(ways.to_h { |flags| [flags, ["done\n", [], 0, [], [0o600]]] })
  end

  it "commands write, read and print as elsewhere" do
    File.write("#{tmpdir}/work.rb", "def zähle_あ😀(n) = n.times { Math.sqrt(n) }\nzähle_あ😀(2_000_000)\n")
    ended = each_way(ways, lambda do |flags|
      folder = Dir.mktmpdir("encoding", tmpdir)
      run = lambda do |*arguments|
        run_program([RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, *arguments], env: { **CommandLine.silence, "LC_ALL" => "C", "RUBYOPT" => flags })
      end
      record, report, diff, page, stat = [%w[record -o], ["#{folder}/größe.json.gz", "ruby", "#{tmpdir}/work.rb"]].then do |command|
        [run.call(*command.flatten), run.call("report", "--text", "#{folder}/größe.json.gz"), run.call("diff", "--text", *Array.new(2, "#{folder}/größe.json.gz")),
         run.call("report", "--html", "#{folder}/größe.json.gz"), run.call("stat", "ruby", "#{tmpdir}/work.rb")]
      end
      [record[0..1], report[0][/Object#z\S+/], diff[1], page[0][0, 15], [record, report, diff, page, stat].map { |one| one.last.exitstatus }]
    end)
    expect(ended.to_h).to eq(ways.to_h { |flags| [flags, [["", ""], "Object#zähle_あ😀", "", "<!doctype html>", [0] * 5]] })
  end
end
