# frozen_string_literal: true

bind "tcp://127.0.0.1:#{ENV.fetch("PORT", 3000)}"
directory File.expand_path("..", __dir__)
rackup File.expand_path("../config.ru", __dir__)
threads 3, 3
raise_exception_on_sigterm false
worker_shutdown_timeout 5 # Puma 8.0 sometimes waits for ever where a worker closes its pipe, profiled or not

workers Integer(ENV.fetch("WEB_CONCURRENCY", 2))
preload_app! unless ENV["BOOKSHOP_PRELOAD"] == "0"
fork_worker 0 if ENV["BOOKSHOP_FORK_WORKER"]

before_fork { ActiveRecord::Base.connection_handler.clear_all_connections! } if ENV["BOOKSHOP_PRELOAD"] != "0"
plugin :solid_queue if ENV["BOOKSHOP_JOBS"] == "puma"
