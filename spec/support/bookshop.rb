# frozen_string_literal: true

require "fileutils"
require "net/http"
require "rbconfig"
require "sqlite3"
require_relative "held_port"
require_relative "helpers/ruby_program"

# The example bookshop: a whole Rails application, each of its processes as its users start them.
#
#   shop = Bookshop.new(tmpdir, "RPERF_PUSH_SERVER_ADDRESS" => fake_server.url)
#   shop.task("runner", "p Rails.env")     # => out, err, status
#   shop.serve { |url| Net::HTTP.get(URI("#{url}/labels")) }
class Bookshop
  include RubyProgram

  ROOT = File.expand_path("../../examples/rails", __dir__)
  QUIET = ENV.keys.grep(/\A(?:RPERF_PUSH|PYROSCOPE|OTEL)_/).to_h { |name| [name, nil] }

  # @param folder [String] for database and logs; made ready at once
  # @param env [Hash{String => String}] of all its processes
  def initialize(folder, env = {})
    own = { "RAILS_ENV" => "production", "BOOKSHOP_TMP" => folder, "RUBYLIB" => RubyProgram::LIB }
    @env = { **QUIET, **own, "DISABLE_DATABASE_ENVIRONMENT_CHECK" => "1", **env }
    @log = File.join(folder, "server.log")
    @database = File.join(folder, "production.sqlite3")
    task("db:schema:load", "db:seed") unless File.exist?(@database)
  end

  # @return [Array(String, String, Process::Status)] of bin/rails
  def task(*arguments, env: {}, stdin: "", command: [RbConfig.ruby, "bin/rails"])
    run_program([*command, *arguments], env: @env.merge(env), stdin:, chdir: ROOT, timeout: 120)
  end

  # Puma, from the moment it answers until the block is done and it has ended by the signal.
  #
  # @param stop [Symbol] KILL where nothing depends on its end: on a busy machine, Puma 8 on Ruby 3.3 sometimes hangs after TERM, profiled
  #   or not, as the main thread that writes into Puma's pipe never leaves the list that the closing thread waits for
  # @yieldparam url [String]
  # @yieldparam pid [Integer] of its first process
  def serve(env: {}, command: [RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb"], stop: :TERM)
    port = HeldPort.new
    url = "http://127.0.0.1:#{port}"
    during(command, { "PORT" => port.to_s, **env }, stop:) do |pid|
      wait("the bookshop does not answer") { answers?(url) }
      yield url, pid
    end
  ensure
    port&.release
  end

  # Solid Queue's processes, until the block is done.
  def jobs(env: {}, &) = during([RbConfig.ruby, "bin/jobs"], env, &)

  def log = File.read(@log, encoding: Encoding::UTF_8)

  # @return [Object] what its database answers
  def value(sql) = SQLite3::Database.new(@database).tap { |database| database.busy_timeout = 5000 }.get_first_value(sql)

  # Until the block is true.
  def wait(trouble, seconds: 120)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until yield
      raise "#{trouble}:\n#{log.lines.last(30).join}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
    end
  end

  private

  def during(command, env, stop: :TERM)
    pid = Process.spawn(@env.merge(env), *command, chdir: ROOT, in: File::NULL, %i[out err] => [@log, "a"], pgroup: true)
    yield pid
  ensure
    if pid
      Process.kill(stop, pid)
      RubyProgram.instance_method(:wait_for).bind_call(self, pid, 60) or raise "it did not end:\n#{log.lines.last(30).join}"
    end
  end

  def answers?(url)
    Net::HTTP.get_response(URI("#{url}/labels")).is_a?(Net::HTTPOK)
  rescue SystemCallError, EOFError, Net::ReadTimeout
    false
  end
end
