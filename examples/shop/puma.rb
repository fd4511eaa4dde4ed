# frozen_string_literal: true

workers_wanted = Integer(ENV.fetch("WEB_CONCURRENCY", 0))
threads_wanted = Integer(ENV.fetch("SHOP_THREADS", 5))

bind "tcp://127.0.0.1:#{ENV.fetch("PORT", 9292)}"
rackup File.join(__dir__, "config.ru")
threads threads_wanted, threads_wanted
raise_exception_on_sigterm false # SIGTERM is how a shop is closed, not an accident

if workers_wanted.positive?
  workers workers_wanted
  preload_app!
  before_worker_boot { Shop.backstage.start }
else
  workers 0
  after_booted { Shop.backstage.start }
end
