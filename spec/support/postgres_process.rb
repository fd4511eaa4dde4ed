# frozen_string_literal: true

require "cgi/escape"
require "etc"
require "fileutils"
require "tmpdir"

# A real PostgreSQL of the test's own, on a socket in a folder of its own. It refuses to run as root, who gives it to a user without
# any rights.
class PostgresProcess
  USER = "nobody"
  # Debian keeps the server's programs out of the PATH.
  FOLDERS = [*ENV.fetch("PATH").split(File::PATH_SEPARATOR), *Dir["/usr/lib/postgresql/*/bin"]].freeze

  attr_reader :url

  def initialize
    @folder = Dir.mktmpdir("rperf-push-postgres-")
    @url = "postgresql:///postgres?username=postgres&host=#{CGI.escape(@folder)}"
    @log = File.join(@folder, "log")
    FileUtils.chown(USER, nil, @folder) if root?
    wait_for_end(start("initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync"))
    @pid = start("postgres", "-D", data, "-k", @folder, "-h", "", "-c", "fsync=off")
    wait_until_ready
  end

  def stop
    Process.kill(:INT, @pid) # without waiting for its clients
    Process.wait(@pid)
    FileUtils.rm_rf(@folder)
  end

  private

  def root? = Process.euid.zero?
  def data = File.join(@folder, "data")

  def start(program, *arguments)
    path = FOLDERS.map { |folder| File.join(folder, program) }.find { |file| File.executable?(file) } or raise "no #{program} here: run bin/setup"
    user = ["setpriv", "--reuid", USER, "--regid", Etc.getpwnam(USER).gid.to_s, "--clear-groups"] if root?
    Process.spawn(*user, path, *arguments, chdir: @folder, in: File::NULL, %i[out err] => [@log, "a"])
  end

  def wait_for_end(pid)
    _, status = Process.wait2(pid)
    raise "no PostgreSQL:\n#{File.read(@log)}" unless status.success?
  end

  def wait_until_ready
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 120
    until File.read(@log).include?("ready to accept connections")
      raise "no PostgreSQL:\n#{File.read(@log)}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
    end
  end
end
