# frozen_string_literal: true

require "rperf_push"
require "rperf_push/settings/git"

# What is said of the commit is read from files. A repository can plant programs that git runs; none of them is run.
RSpec.describe "RperfPush::Git", :once do
  include CommandLine

  let(:work) { FileUtils.mkdir_p("#{tmpdir}/work").first }

  def git(*arguments)
    env = { "GIT_CONFIG_GLOBAL" => File::NULL, "GIT_CONFIG_NOSYSTEM" => "1", "GIT_COMMITTER_DATE" => "2026-02-03T04:05:06+0530" }
    out = IO.popen([env, "git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], err: %i[child out], &:read).chomp
    $?.success? ? out : raise("git #{arguments.join(" ")}: #{out}")
  end

  def commit(text = "Add x\nand y\n\nWhy.", *arguments)
    File.write("#{work}/x", rand.to_s)
    git("init", "-q", "-b", "main", *arguments) unless Dir.exist?("#{work}/.git")
    git("add", "x")
    git("commit", "-q", "-m", text)
    git("rev-parse", "HEAD")
  end

  def meta(env = {}, directory = work) = RperfPush::Git.meta(env, directory)

  it "reads a loose commit, one in a pack, a packed branch, a detached HEAD, and one of SHA-256" do
    sha = commit
    known = { sha:, branch: "main", subject: "Add x and y", committed_at: "2026-02-03T04:05:06+05:30" }
    expect(meta).to eq(known)
    git("gc", "-q")
    git("pack-refs", "--all")
    expect(Dir.exist?("#{work}/.git/objects/#{sha[0, 2]}")).to be(false)
    expect(meta).to eq(known)
    git("checkout", "-q", "--detach")
    expect(meta).to eq(known.merge(branch: "HEAD"))
    FileUtils.rm_rf("#{work}/.git")
    sha = commit("Other", "--object-format=sha256")
    expect(meta).to include(sha:, subject: "Other")
  end

  it "reads a worktree, a clone that borrows its objects, and a submodule's file" do
    commit
    git("branch", "other")
    git("worktree", "add", "-q", "#{tmpdir}/tree", "other")
    git("clone", "-q", "--shared", work, "#{tmpdir}/clone")
    expect(meta({}, "#{tmpdir}/tree")).to eq(meta.merge(branch: "other"))
    expect(meta({}, "#{tmpdir}/clone")).to eq(meta)
    expect(RperfPush::Git.labels({}, "#{tmpdir}/clone")).to eq(service_git_ref: meta[:sha])
    git("remote", "add", "origin", "https://me:secret@git.example.com/shop.git")
    Dir.mkdir("#{tmpdir}/tree/app")
    expect(RperfPush::Git.labels({}, "#{tmpdir}/tree/app"))
      .to eq(service_git_ref: meta[:sha], service_repository: "https://git.example.com/shop", service_root_path: "app")
    Dir.mkdir("#{tmpdir}/sub")
    File.write("#{tmpdir}/sub/.git", "gitdir: ../#{File.basename(work)}/.git\n")
    expect(meta({}, "#{tmpdir}/sub")).to eq(meta)
  end

  it "says what the environment says of changes that are not committed, and nothing else" do
    commit
    File.write("#{work}/x", "changed")
    answers = { "1" => true, "true" => true, "0" => false, "false" => false, "" => nil }
    answers.each { |text, dirty| expect(meta("RPERF_PUSH_GIT_DIRTY" => text)[:dirty]).to eq(dirty) }
    expect(meta).not_to have_key(:dirty)
  end

  # All that git may run for a repository, each of which leaves a file.
  def plant
    commit
    git("gc", "-q")
    program = lambda do |name|
      "#{tmpdir}/#{name}".tap { |path| File.write(path, "#!/bin/sh\ntouch #{tmpdir}/ran-#{name}\nexit 1\n", perm: 0o755) }
    end
    { "core.fsmonitor" => "monitor", "core.pager" => "pager", "core.sshCommand" => "ssh", "core.askPass" => "pass", "core.editor" => "editor", "core.gitProxy" => "proxy",
      "core.alternateRefsCommand" => "refs", "filter.planted.clean" => "clean", "filter.planted.smudge" => "smudge", "filter.planted.process" => "process", "gpg.program" => "gpg", "diff.external" => "external",
      "diff.planted.textconv" => "textconv", "diff.planted.command" => "differ", "credential.helper" => "credentials", "remote.origin.uploadpack" => "upload", "uploadpack.packObjectsHook" => "objects" }
      .each { |key, name| git("config", key, program.call(name)) }
    %w[log status cat-file rev-parse show config].each { |name| git("config", "alias.#{name}", "!#{program.call("alias-#{name}")}") }
    plant_hooks(program)
    { "log.showSignature" => "true", "remote.origin.promisor" => "true", "remote.origin.url" => tmpdir, "extensions.partialClone" => "origin", "core.repositoryFormatVersion" => "1" }
      .each { |key, value| git("config", key, value) }
    File.write("#{work}/.gitattributes", "* filter=planted diff=planted\n")
    File.write("#{work}/git", "#!/bin/sh\ntouch #{tmpdir}/ran-git\n", perm: 0o755)
    ran.each { |name| File.delete("#{tmpdir}/#{name}") }
  end

  def plant_hooks(program)
    Dir.mkdir("#{tmpdir}/hooks")
    git("config", "core.hooksPath", "#{tmpdir}/hooks")
    %w[post-index-change pre-commit post-checkout reference-transaction fsmonitor-watchman].each { |name| FileUtils.cp(program.call("hook-#{name}"), "#{tmpdir}/hooks/#{name}") }
  end

  def ran = Dir.children(tmpdir).grep(/\Aran-/).sort

  it "runs nothing that a repository plants, whatever command is called in it" do
    plant
    File.write("#{work}/x", "changed")
    here = Dir.pwd
    Dir.chdir(work)
    env = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir, "PATH" => ".:#{ENV.fetch("PATH")}" }
    expect(rperf_push("record", "-o", "#{tmpdir}/p.json.gz", RbConfig.ruby, "-e", "1", env:).status).to eq(0)
    expect(RperfPush.read_meta("#{tmpdir}/p.json.gz")[:meta][:git]).to include(branch: "main", subject: "Add x and y")
    [%w[record --snapshot-dir] + [tmpdir], ["stat"], ["run"]].each { |command| expect(rperf_push(*command, RbConfig.ruby, "-e", "1", env:).status).to eq(0) }
    expect(ran).to eq([])
  ensure
    Dir.chdir(here)
  end

  it "does not ask a remote for a commit that is missing" do
    plant
    File.write("#{work}/.git/refs/heads/main", "#{"12" * 20}\n")
    expect(meta).to eq(sha: "12" * 20, branch: "main")
    expect(ran).to eq([])
  end

  it "waits for no FIFO, and follows no ref out of the repository" do
    sha = commit
    head = "#{work}/.git/HEAD"
    ["ref: refs/heads/../../../outside\n", "ref: refs/heads/main\0\n", "../x\n", "ref: refs/heads/loop\n"].each do |text|
      File.write("#{tmpdir}/outside", "#{sha}\n")
      File.write("#{work}/.git/refs/heads/loop", "ref: refs/heads/loop\n")
      File.write(head, text)
      expect(meta).to be_nil
    end
    File.write(head, "ref: refs/heads/main\n")
    %W[config packed-refs commondir objects/#{sha[0, 2]}/#{sha[2..]}].each do |name|
      FileUtils.rm_f("#{work}/.git/#{name}")
      File.mkfifo("#{work}/.git/#{name}")
    end
    expect(Timeout.timeout(60) { [meta, RperfPush::Git.labels({}, work)] }).to eq([{ sha:, branch: "main" }, { service_git_ref: sha }])
    FileUtils.rm_f(head)
    File.mkfifo(head)
    expect(Timeout.timeout(60) { meta }).to be_nil
  end

  it "does not believe a repository of another user above one's own folder", if: Process.euid.zero? do
    commit
    FileUtils.chown_R(65_534, 65_534, work)
    File.chmod(0o755, tmpdir)
    Dir.mkdir("#{work}/mine")
    expect(meta({}, "#{work}/mine")).to be_nil
    expect(meta).to include(branch: "main") # where all is of that user, as in a container
  end
end
