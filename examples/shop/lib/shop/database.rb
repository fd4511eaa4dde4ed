# frozen_string_literal: true

require "fileutils"
require "sqlite3"
require "tmpdir"

module Shop
  # An SQLite file that lives as long as the process that made it, with one connection per thread.
  class Database
    def initialize
      @directory = Dir.mktmpdir("shop")
      @path = File.join(@directory, "shop.sqlite3")
      owner = Process.pid
      at_exit { FileUtils.rm_rf(@directory) if Process.pid == owner }
    end

    # Seeds through a connection of its own and closes it: an open one must not cross a fork.
    def prepare
      database = connect
      yield database
    ensure
      database&.close
    end

    def query(sql, binds = [])
      columns, *rows = connection.execute2(sql, binds)
      names = columns.map(&:to_sym)
      rows.map { |row| names.zip(row).to_h }
    end

    def first(sql, binds = []) = query(sql, binds).first
    def execute(sql, binds = []) = connection.execute(sql, binds)
    def last_id = connection.last_insert_row_id

    # Immediate, so that a writer waits for its turn at the beginning and not half way through.
    def transaction(&) = connection.transaction(:immediate, &)

    private

    def connection
      Thread.current.thread_variable_get(:shop_database) ||
        connect.tap { |database| Thread.current.thread_variable_set(:shop_database, database) }
    end

    def connect
      SQLite3::Database.new(@path).tap do |database|
        database.busy_handler_timeout = 2_000
        database.journal_mode = "wal"
        database.synchronous = "normal"
      end
    end
  end
end
