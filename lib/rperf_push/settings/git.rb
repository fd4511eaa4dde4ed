# frozen_string_literal: true

require_relative "git_repository"
require_relative "../base/working_folder"

module RperfPush
  # Which commit runs, and where its source is: what a CI or a host says of it, else the files of the repository.
  module Git
    Place = Struct.new(:commit, :branches, :repository)

    GITHUB = ->(env) { [env["GITHUB_SERVER_URL"], env["GITHUB_REPOSITORY"]].compact.join("/") if env["GITHUB_REPOSITORY"] }
    # The first whose commit is in the environment holds.
    PLACES = [
      Place.new("RPERF_PUSH_SERVICE_GIT_REF", [], ->(_env) {}),
      Place.new("GITHUB_SHA", %w[GITHUB_HEAD_REF GITHUB_REF_NAME], GITHUB),
      Place.new("CI_COMMIT_SHA", %w[CI_COMMIT_REF_NAME], ->(env) { env["CI_PROJECT_URL"] }),
      Place.new("BUILDKITE_COMMIT", %w[BUILDKITE_BRANCH], ->(env) { env["BUILDKITE_REPO"] }),
      Place.new("CIRCLE_SHA1", %w[CIRCLE_BRANCH], ->(env) { env["CIRCLE_REPOSITORY_URL"] }),
      Place.new("GIT_COMMIT", %w[GIT_BRANCH], ->(env) { env["GIT_URL"] }),
      Place.new("TRAVIS_COMMIT", %w[TRAVIS_PULL_REQUEST_BRANCH TRAVIS_BRANCH],
                ->(env) { env["TRAVIS_REPO_SLUG"]&.then { |slug| "https://github.com/#{slug}" } }),
      Place.new("RENDER_GIT_COMMIT", %w[RENDER_GIT_BRANCH],
                ->(env) { env["RENDER_GIT_REPO_SLUG"]&.then { |slug| "https://github.com/#{slug}" } }),
      Place.new("HEROKU_BUILD_COMMIT", [], ->(_env) {}),
      Place.new("HEROKU_SLUG_COMMIT", [], ->(_env) {}),
      Place.new("SOURCE_VERSION", [], ->(_env) {})
    ].freeze
    # Only git could say it, and would run what the repository's configuration names.
    DIRTY = "RPERF_PUSH_GIT_DIRTY"
    ANSWERS = { "1" => true, "true" => true, "0" => false, "false" => false }.freeze
    TIME = /^committer .*> (\d{1,12}) ([+-](?:0\d|1[0-4]))([0-5]\d)$/
    # The gem uri may be one whose version Bundler is about to choose: RUBYOPT loads this file before.
    WEB = %r{\A(?<scheme>https?)://(?:[^@/?#]*@)?(?<host>[^@:/?#]+)(?::(?<port>\d*))?(?<path>/[^?#]*)?(?:[?#].*)?\z}i
    PORTS = { "http" => 80, "https" => 443 }.freeze
    PLAIN = %r{\A[\w.:/~@+-]{1,200}\z}n

    module_function

    # For Pyroscope, which links frames to their source by them.
    #
    # @param env [#[]] the environment
    # @param directory [String, nil] in the repository; nil: only the environment is asked
    # @return [Hash{Symbol => String}] service_git_ref, service_repository and service_root_path, what is known of them; what can be
    #   no commit, address or path is left out
    def labels(env, directory)
      place = place_in(env)
      repository = GitRepository.around(directory, env["GIT_DIR"])
      ref = place ? env[place.commit] : repository&.id_of("HEAD")
      { service_git_ref: ref, service_repository: web_address(address(env, place, repository)),
        service_root_path: root_path(env, repository) }
        .select { |_, value| PLAIN.match?(value.to_s.b) }
    end

    # For a file's `meta`, as rperf has it.
    #
    # @return [Hash, nil] :sha, :branch, :subject, :committed_at, :dirty; nil where no commit is known
    def meta(env = ENV, directory = WorkingFolder.path)
      require "time" # not where a program only loads this: Bundler may be about to choose its version
      place = place_in(env)
      said = place ? { sha: env[place.commit], branch: first_of(place.branches, env) } : {}
      read = read_from(GitRepository.around(directory, env["GIT_DIR"]), place ? env[place.commit] : "HEAD")
      all = { **read, **said.compact }
      { **all.transform_values { |value| text(value) }, dirty: ANSWERS[env[DIRTY]] }.compact if all.any?
    end

    # @param name [String] what the commit is called
    def read_from(repository, name)
      sha = repository&.id_of(name)
      commit = repository.commit(sha) if sha
      return {} unless sha && (commit || name == "HEAD")

      { sha:, branch: repository.branch, **details(commit) }.compact
    end

    # @param commit [String, nil] as git keeps it
    def details(commit)
      head, message = commit.to_s.split("\n\n", 2)
      seconds, hours, minutes = head.to_s.match(TIME)&.captures
      { subject: message && message.lstrip.split(/\n\s*\n/).first.to_s.split("\n").join(" "),
        committed_at: seconds && Time.at(seconds.to_i, in: "#{hours}:#{minutes}").iso8601 }
    end

    def said(env, name) = env[name].then { |value| value unless value.to_s.empty? }
    def place_in(env) = PLACES.find { |place| said(env, place.commit) }
    def first_of(names, env) = names.filter_map { |name| env[name] }.find { |value| !value.empty? }

    def address(env, place, repository)
      said(env, "RPERF_PUSH_SERVICE_REPOSITORY") || place&.repository&.call(env) || repository&.remote
    end

    # Where the application is in its repository; nil: at its top, as Pyroscope takes it then.
    def root_path(env, repository) = (said(env, "RPERF_PUSH_SERVICE_ROOT_PATH") || repository&.prefix)&.delete_suffix("/")

    # A remote's address may hold a token, and often is no address for a browser.
    def web_address(remote)
      remote = remote.to_s.b
      address = remote.strip.delete_suffix(".git").sub(%r{\A(?:ssh://)?(?:[^@/]+@)?([^:/]+)(?::\d+/|:|/)(?=[^/])}) do |found|
        remote.match?(%r{\Ahttps?://}) ? found : "https://#{Regexp.last_match(1)}/"
      end
      found = WEB.match(address) or return
      scheme = found[:scheme].downcase
      port = ":#{found[:port]}" if found[:port] && found[:port].to_i != PORTS[scheme]
      "#{scheme}://#{found[:host]}#{port}#{found[:path]}".force_encoding(Encoding::UTF_8)
    end

    # Branches and subjects are UTF-8, whatever the locale is.
    def text(bytes) = bytes.dup.force_encoding(Encoding::UTF_8).scrub("?")
    private_class_method :said, :place_in, :first_of, :read_from, :details, :address, :root_path, :web_address, :text
  end
end
