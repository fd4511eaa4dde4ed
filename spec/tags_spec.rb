# frozen_string_literal: true

require "rperf_push"
require "rperf_push/tags"

RSpec.describe RperfPush::Tags, :interpreted, :short do
  def commit(env = {}, directory: nil) = described_class.commit(env:, directory:)

  it "names the runtime" do
    expect(described_class.runtime).to eq(process_runtime_name: "ruby", process_runtime_version: RUBY_VERSION)
  end

  {
    { "GITHUB_SHA" => "abc", "GITHUB_SERVER_URL" => "https://github.com", "GITHUB_REPOSITORY" => "shop/app" } =>
      { service_git_ref: "abc", service_repository: "https://github.com/shop/app" },
    { "CI_COMMIT_SHA" => "def", "CI_PROJECT_URL" => "https://git.example.com/shop/app" } =>
      { service_git_ref: "def", service_repository: "https://git.example.com/shop/app" },
    { "CIRCLE_SHA1" => "012", "CIRCLE_REPOSITORY_URL" => "git@github.com:shop/app.git" } =>
      { service_git_ref: "012", service_repository: "https://github.com/shop/app" },
    { "GIT_COMMIT" => "345", "GIT_URL" => "ssh://git@git.example.com:2222/shop/app.git" } =>
      { service_git_ref: "345", service_repository: "https://git.example.com/shop/app" },
    { "BUILDKITE_COMMIT" => "678", "BUILDKITE_REPO" => "https://robot:secret@github.com/shop/app.git" } =>
      { service_git_ref: "678", service_repository: "https://github.com/shop/app" },
    { "HEROKU_SLUG_COMMIT" => "9ab" } => { service_git_ref: "9ab" },
    { "GITHUB_SHA" => "", "SOURCE_VERSION" => "cde" } => { service_git_ref: "cde" },
    { "GIT_COMMIT" => "f", "GIT_URL" => "/srv/git/shop app" } => { service_git_ref: "f" },
    { "GIT_COMMIT" => "f", "GIT_URL" => "https://git.example.com/\xFF" } => { service_git_ref: "f" },
    { "GIT_COMMIT" => "f", "GIT_URL" => "HTTP://me@git.example.com:8080/shop/app.git?a=b#c" } =>
      { service_git_ref: "f", service_repository: "http://git.example.com:8080/shop/app.git" },
    { "GIT_COMMIT" => "f", "GIT_URL" => "https://git.example.com:443/shop/app" } =>
      { service_git_ref: "f", service_repository: "https://git.example.com/shop/app" },
    { "GITHUB_SHA" => "0", "RPERF_PUSH_SERVICE_ROOT_PATH" => "apps/shop/" } => { service_git_ref: "0", service_root_path: "apps/shop" },
    { "GITHUB_SHA" => "1", "RPERF_PUSH_SERVICE_REPOSITORY" => "git@github.com:shop/app.git" } =>
      { service_git_ref: "1", service_repository: "https://github.com/shop/app" },
    { "RPERF_PUSH_SERVICE_REPOSITORY" => "https://github.com/shop/app" } => { service_repository: "https://github.com/shop/app" },
    { "RPERF_PUSH_SERVICE_ROOT_PATH" => "" } => {},
    {} => {}
  }.each do |env, tags|
    it "finds #{tags} in #{env}" do
      expect(commit(env)).to eq(tags)
    end
  end

  it "asks git where the environment does not know, and is quiet where there is none" do
    expect(commit(directory: tmpdir)).to eq({})
    git = ->(*arguments) { system("git", "-C", tmpdir, *arguments, out: File::NULL, err: File::NULL, exception: true) }
    git.call("init", "-b", "master")
    git.call("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    git.call("remote", "add", "origin", "git@github.com:shop/app.git")
    known = { service_git_ref: /\A\h{40}\z/, service_repository: "https://github.com/shop/app" }
    expect(commit(directory: tmpdir)).to match(known)
    FileUtils.mkdir_p("#{tmpdir}/apps/shop")
    expect(commit(directory: "#{tmpdir}/apps/shop")).to match(known.merge(service_root_path: "apps/shop"))
    expect(RperfPush::Git.meta({ "GITHUB_SHA" => "master" }, tmpdir)).to include(sha: "master", subject: "x")
    expect(RperfPush::Git.meta({ "GITHUB_SHA" => "--output=#{tmpdir}/written" }, tmpdir)).to eq(sha: "--output=#{tmpdir}/written")
    expect(File.exist?("#{tmpdir}/written")).to be(false)
  end

  it "is fit for config.tags" do
    tags = { env: "test", **described_class.runtime, **commit({ "GITHUB_SHA" => "abc" }) }
    RperfPush.configure! do |config|
      config.enabled = false
      config.tags = tags
    end
  end

  describe "what the environment knows" do
    # The tags of a process that is configured so, as a server gets them.
    def tags_sent(env, block: "")
      code = <<~RUBY
        RperfPush.configure! { |config| config.directory = #{tmpdir.inspect}; #{block} }
        configuration = RperfPush::Configuration.new.tap { |config| #{block} }
        given, texts = configuration.over(RperfPush::Environment.new(ENV).texts)
        puts (given["tags"] || texts["tags"]&.first).inspect
      RUBY
      out, err, status = run_ruby(code, env: { "RPERF_PUSH_TAGS" => nil, **env })
      expect([err, status.success?]).to eq(["", true])
      eval(out)
    end

    it "is among the tags, below those that somebody chose" do
      github = { "GITHUB_SHA" => "abc", "GITHUB_REPOSITORY" => "shop/app", "GITHUB_SERVER_URL" => "https://github.com" }
      labels = "service_git_ref=abc,service_repository=https://github.com/shop/app"
      expect(tags_sent({})).to be_nil
      expect(tags_sent(github)).to eq(labels)
      expect(tags_sent(github.merge("RPERF_PUSH_TAGS" => "a=b"))).to eq("#{labels},a=b")
      expect(tags_sent(github, block: "config.tags = { service_git_ref: 'mine' }"))
        .to eq("service_git_ref" => "mine", "service_repository" => "https://github.com/shop/app")
      expect(tags_sent(github.merge("RPERF_PUSH_SERVICE_ROOT_PATH" => "apps/shop"))).to eq("#{labels},service_root_path=apps/shop")
      expect(tags_sent(github.merge("RPERF_PUSH_SERVICE_GIT_REF" => "of the image".tr(" ", "-")))).to eq("service_git_ref=of-the-image")
    end

    it "leaves it to the core to say what is wrong with tags in the environment" do
      ["a=\xFF", " \xFF", "{\"a\":\"\xFF\"}"].each do |tags|
        _, err, status = run_ruby("exit RperfPush.configure", env: { "GIT_COMMIT" => "abc", "RPERF_PUSH_TAGS" => tags })
        expect([err, status.exitstatus]).to match([/\A\[rperf-push\] not started: (?:RPERF_PUSH_TAGS|tags).*\n\z/, 1])
      end
    end

    it "keeps nothing from starting, whatever it is" do
      ["a,b=c", "x" * 5000, "\xFF\n"].each { |odd| expect(tags_sent({ "GIT_COMMIT" => odd })).to be_nil }
    end
  end
end
