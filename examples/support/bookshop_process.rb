# frozen_string_literal: true

require "fileutils"
require_relative "shop_process"

# The example bookshop: Rails on a Puma cluster, and Solid Queue's processes beside it.
class BookshopProcess < ShopProcess
  BOOKSHOP = File.expand_path("../rails", __dir__)

  def initialize(environment, log_path:)
    folder = File.expand_path(File.dirname(log_path))
    @environment = { "RAILS_ENV" => "production", "DISABLE_DATABASE_ENVIRONMENT_CHECK" => "1", "BOOKSHOP_TMP" => folder,
                     "WEB_CONCURRENCY" => "2", "RUBYLIB" => LIB }.merge(environment)
    FileUtils.rm_f(Dir[File.join(folder, "production.sqlite3*")])
    system(@environment, RbConfig.ruby, "bin/rails", "db:schema:load", "db:seed", chdir: BOOKSHOP, out: log_path, err: log_path) or
      raise Failed, "the bookshop has no database; see #{log_path}"

    super(@environment, log_path:)
    @jobs = spawn(@environment, RbConfig.ruby, "bin/jobs", chdir: BOOKSHOP, in: File::NULL, %i[out err] => [log_path, "a"])
  end

  def stop
    stopped = super
    Process.kill(:TERM, @jobs) && Process.wait(@jobs) if @jobs
    stopped && (@jobs.nil? || $?.success?)
  ensure
    @jobs = nil
  end

  # Rails tells of requests as they come; of the rest, what went wrong.
  def complaints = super.grep_v(/is profiled: backend|\[rperf-push\] off: this is a task/)

  private

  def command = [RbConfig.ruby, "-I", LIB, "-rbundler/setup", Gem.bin_path("puma", "puma"), "-C", File.join(BOOKSHOP, "config/puma.rb")]
  def load_options = ["--bookshop"]
end
