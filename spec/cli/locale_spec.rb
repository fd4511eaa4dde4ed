# frozen_string_literal: true

require "json"
require "net/http"
require "rperf_push"
require "rperf_push/cli"
require_relative "../support/listening_process"
require_relative "../support/fake_pyroscope"

# A container often has no locale, and Ruby then takes what it reads for ASCII. Names, labels, paths and sources are UTF-8 all the same.
RSpec.describe "rperf-push with names that are not ASCII", :once, :waiting do
  include CommandLine

  no_locale = ENV.keys.grep(/\A(?:LANG|LANGUAGE|LC_.*)\z/).to_h { |name| [name, nil] }
  source = <<~RUBY
    def brät(seconds)
      from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
    end
  RUBY

  { "in the locale C" => { "LC_ALL" => "C" }, "without a locale" => no_locale }.each do |world, locale|
    context world do
      define_method(:command) { |*arguments, env: {}| rperf_push(*arguments, env: { **no_locale, **locale, "TMPDIR" => tmpdir, **env }) }

      define_method(:program) do |code = "brät 0.3; puts 'gebräunt'"|
        "#{tmpdir}/küche.rb".tap { |path| File.write(path, "#{source}#{code}") }
      end

      def said_by(*arguments, **)
        ended = command(*arguments, **)
        expect([ended.err.sub(CommandLine::START_OF_RUN, ""), ended.status]).to eq(["", 0])
        expect(ended.out).to be_valid_encoding
        ended.out
      end

      define_method(:save) do |name, *stacks|
        samples = stacks.map { |frames| [frames, 6_000_000, 1, 1] }
        "#{tmpdir}/#{name}".tap { |path| RperfPush.save(path, { mode: :cpu, frequency: 99, aggregated_samples: samples, label_sets: [{}, { stück: "süß" }] }) }
      end

      let(:main) { ["#{tmpdir}/küche.rb", "<main>", 5] }
      let(:profile) { save("löffel.json.gz", [["#{tmpdir}/küche.rb", "Küche#brät", 1], main], [main]) }

      it "reports and compares" do
        [[], %w[--text], %w[--collapsed], %w[--dot], %w[--method Küche#brät], %w[--format table], %w[--format table-json]].each do |options|
          expect(said_by("report", *options, profile)).to include("Küche#brät"), options.inspect
        end
        expect(said_by("report", "--by-label", "stück", profile)).to match(/ stück:\n.*  süß$/)
        expect(said_by("diff", save("äpfel.json.gz", [main]), profile)).to include("Küche#brät")
        expect(said_by("report", "-o", "#{tmpdir}/größe.txt", profile)).to eq("")
        expect(File.read("#{tmpdir}/größe.txt")).to include("Küche#brät")
      end

      it "shows the page, with sources" do
        program
        serving("view", profile, env: { **no_locale, **locale }) do |url|
          expect(JSON.parse(Net::HTTP.get(URI("#{url}profiles.json")))["title"]).to eq("löffel.json.gz")
          source_url = "#{url}source?path=#{URI.encode_www_form_component("#{tmpdir}/küche.rb")}"
          expect(Net::HTTP.get(URI(source_url)).force_encoding(Encoding::UTF_8)).to include("brät")
        end
      end

      it "records, and says what the time went to" do
        expect(said_by("record", "-o", "#{tmpdir}/öl.json.gz", "--label", "gang=zwölf", program)).to eq("gebräunt\n")
        recorded = RperfPush.load("#{tmpdir}/öl.json.gz")
        expect(recorded[:aggregated_samples].flat_map(&:first)).to include([a_string_ending_with("/küche.rb"), "Object#brät", 3])
        expect(RperfPush.read_meta("#{tmpdir}/öl.json.gz")[:meta][:labels]).to eq(gang: "zwölf")
        ended = command("exec", program)
        expect([ended.out, ended.status]).to eq(["gebräunt\n", 0])
        expect(ended.err).to include("stats for '#{tmpdir}/küche.rb'", "Object#brät")
      end

      it "records from outside of the command, with what git says, and traces" do
        git = { "GIT_DIR" => "#{tmpdir}/.git", **%w[AUTHOR COMMITTER].flat_map { |who| [["GIT_#{who}_NAME", "Jürgen"], ["GIT_#{who}_EMAIL", "j@x.example"]] }.to_h }
        [%w[init -q -b öl], %w[commit -q --allow-empty -m] << "l'été est là"].each { |words| expect(system(git, "git", *words, chdir: tmpdir)).to be(true) }
        exports = said_by("record", "--print-env", "-o", "#{tmpdir}/öl.json.gz", "--label", "gang=zwölf", env: git)
        env = { **CommandLine.silence, **no_locale, **locale, "TMPDIR" => tmpdir }
        out, err, status = run_program(["bash", "-euc", "#{exports}\nexec ruby #{program}"], env:)
        expect([out, err, status.exitstatus]).to eq(["gebräunt\n", "", 0])
        expect(RperfPush.read_meta("#{tmpdir}/öl.json.gz")[:meta]).to include(git: a_hash_including(branch: "öl", subject: "l'été est là"), labels: { gang: "zwölf" })
        expect(said_by("record", "-o", "#{tmpdir}/ci.json", program, env: { **git, "GITHUB_SHA" => "0123456789", "GITHUB_REF_NAME" => "käse" })).to eq("gebräunt\n")
        expect(RperfPush.read_meta("#{tmpdir}/ci.json")[:meta]).to include(git: a_hash_including(branch: "käse"))
        expect(said_by("trace", "--only", "Object#brät", program)).to include("gebräunt\n", " 1   Object#brät (")
      end

      it "profiles, checks and pushes" do
        fake_server = FakePyroscope.new
        settings = ["--application", "küche", "--server", fake_server.url]
        expect(said_by("check", *settings)).to include("application_name küche")
        expect(said_by("run", *settings, "ruby", program)).to eq("gebräunt\n")
        expect(said_by("run", "--application", "küche", "--directory", "#{tmpdir}/gewürze", "ruby", program)).to eq("gebräunt\n")
        files = Dir["#{tmpdir}/gewürze/*.pb.gz"]
        expect(said_by("push", *settings, *files)).to start_with("#{tmpdir}/gewürze/").and end_with(" as küche\n")
        expect(fake_server.received.map { |received| received.labels.to_h["service_name"] }.uniq).to eq(["küche"])
        pushed = fake_server.accepted.last(files.size).flat_map { |one| one.profile.string_table.to_a } # its window may have ended once before
        expect(pushed.map { |text| text.dup.force_encoding(Encoding::UTF_8) }).to include("Object#brät")
        expect(fake_server.violations).to eq([])
      ensure
        fake_server&.stop
      end

      it "looks into a process" do
        looked_at = ListeningProcess.new("#{tmpdir}/ü", <<~RUBY, env: { **no_locale, **locale })
          #{source}
          Thread.current.name = "köchin"
          puts "ready"
          loop { RperfPush.label(gang: "süß") { brät(0.01) } }
        RUBY
        env = looked_at.env
        pid = looked_at.pid.to_s
        expect(said_by("ps", env:)).to include(pid)
        expect(said_by("stacks", pid, env:)).to include("Object#brät")
        # In a second on a busy machine it may not have had its turn.
        wait_until("its method") { said_by("top", pid, "--count", "1", "--interval", "1", env:).match?(/%  Object#brät$/) }
        wait_until("its label") { said_by("top", pid, "--count", "1", "--interval", "1", "--by", "gang", env:).match?(/%  süß$/) }
        wait_until("its method in a file") do
          expect(command("attach", pid, "--seconds", "1", "-o", "#{tmpdir}/öl.json", env:).status).to eq(0)
          RperfPush.load("#{tmpdir}/öl.json")[:aggregated_samples].flat_map(&:first).any? { |frame| frame[1] == "Object#brät" }
        end
      ensure
        looked_at&.stop
      end

      it "names what is wrong" do
        expect(command("report", "#{tmpdir}/löschblatt").to_a).to eq(["", "rperf-push: report: #{tmpdir}/löschblatt: No such file or directory\n", 1])
        expect(command("record", "-o", "#{tmpdir}/öde/p.json", program).to_a).to eq(["", "rperf-push: record: #{tmpdir}/öde/p.json: No such file or directory\n", 1])
      end

      it "explains itself" do
        [%w[help], %w[help man], %w[help completion bash], %w[help completion zsh], %w[--version], %w[help record]].each { |arguments| expect(said_by(*arguments)).not_to be_empty }
      end
    end
  end
end
