# frozen_string_literal: true

require "json"

module Shop
  # Middleware for tests and the curious, only with SHOP_DEBUG=1: what the profiler of this very process says of itself.
  class Debug
    def self.wanted? = ENV["SHOP_DEBUG"] == "1" && defined?(RperfPush)

    def initialize(app)
      @app = app
    end

    def call(env)
      case [env["REQUEST_METHOD"], env["PATH_INFO"]]
      when ["GET", "/debug/rperf_push/stats"] then json(RperfPush.stats.merge(pid: Process.pid))
      when ["POST", "/debug/rperf_push/flush"] then json({ flushed: RperfPush.flush, pid: Process.pid })
      when ["POST", "/debug/rperf_push/shutdown"] then RperfPush.shutdown.then { json({ pid: Process.pid }) }
      else @app.call(env)
      end
    end

    private

    def json(document) = [200, { "content-type" => "application/json" }, [JSON.generate(document)]]
  end
end
