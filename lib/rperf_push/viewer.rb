# frozen_string_literal: true

require "monitor"
require_relative "."
require_relative "sessions/deferred_session"
require_relative "settings/local_development"
require_relative "data/merge"
require_relative "base/notice"
require_relative "web_ui/page_app"
require_relative "sessions/side_session"
require_relative "web_ui/viewer_cluster"
require_relative "web_ui/viewer_snapshots"
require_relative "web_ui/viewer_timer"

module RperfPush
  # The page inside an application: profiles of this process, and of all workers of its cluster, as snapshots that it keeps. Rack
  # middleware, or an application to mount.
  #
  #   use RperfPush::Viewer, allow: ->(env) { env["warden"].user&.admin? }
  #   mount RperfPush::Viewer.new(nil, path: "", allow: ->(_) { true }), at: "/rperf-push"   # inside of what authenticates
  #
  #   RperfPush::Viewer.instance.take_snapshot!   # or `every: 300`, or the page's button
  class Viewer
    FREQUENCY = 99
    ASKED = "HTTP_X_RPERF_PUSH" # a page of another site can not send such a header
    CLOSED = "RperfPush::Viewer shows nothing here until it is given allow: ->(env) { ... }, which is true for those who may look: " \
             "see docs/viewer.md\n"

    class << self
      # @return [Viewer, nil] the newest; it alone profiles
      attr_accessor :instance
    end

    # @param path [String] below which the page is; "" when it is mounted
    # @param max_snapshots [Integer] the oldest goes
    # @param allow [#call, nil] with Rack's env: who may look; nil: requests of this machine, in development and test
    # @param every [Numeric, nil] seconds after which a snapshot is taken, again and again; nil: only when it is asked for
    def initialize(app, path: "/rperf-push", max_snapshots: 24, allow: nil, every: nil)
      check(path, max_snapshots)
      @app = app
      @path = path
      @allow = allow
      @snapshots = ViewerSnapshots.new(max_snapshots)
      @lock = Monitor.new
      @timer = (ViewerTimer.new(every) { @snapshots.unless_newer(every / 2.0) { take_snapshot! } } if every)
      @page = PageApp.new("rperf-push", -> { @snapshots.entries }, takes: true)
      self.class.instance&.stop
      self.class.instance = self
      profile
    end

    def call(env)
      rest = below(env["PATH_INFO"].to_s)
      return @app ? @app.call(env) : text(404, "not here\n") unless rest
      return text(403, CLOSED) unless @allow || LocalDevelopment.request?(env)
      return text(403, "not for you\n") unless @allow.nil? || @allow.call(env)

      return taken(env) if rest == "/snapshot" && env["REQUEST_METHOD"] == "POST"

      @page.call(env.merge("SCRIPT_NAME" => "#{env["SCRIPT_NAME"]}#{@path}", "PATH_INFO" => rest))
    end

    # Keeps what its own session, and those of the cluster's other processes, have sampled since the last one.
    #
    # @return [Boolean] false when nothing was sampled
    def take_snapshot!
      taken = @cluster ? @cluster.take : ViewerCluster::Taken.new({}, 0)
      own = @lock.synchronize { @session&.snapshot }
      parts = { Process.pid => own, **taken.parts }.select { |_, data| data && data[:aggregated_samples].any? }
      @snapshots.add(whole(parts), silent(taken.silent)) if parts.any?
      parts.any?
    end

    # Ends its session; snapshots stay.
    #
    # @return [void]
    def stop
      @timer&.stop
      Native.offer(0, nil) if @cluster
      @lock.synchronize { @session&.stop }
      @session = @cluster = nil
    end

    # @param data [Hash] as {RperfPush.stop} returns it
    # @return [void]
    def add_snapshot(data)
      @snapshots.add(data)
      nil
    end

    # The program has begun a session. If it is deferred, the program has said what is to be sampled: there is nothing beside it.
    def follow
      return unless Native.deferred? || @session.is_a?(DeferredSession)

      @lock.synchronize { @session&.stop }
      profile
    end

    # In a forked child, which has no session yet.
    def begin_in_child
      @lock = Monitor.new
      @session = nil
      profile
    end

    # Puma's workers and the like go on by themselves.
    module Fork
      def _fork
        super.tap { |pid| Viewer.instance&.begin_in_child if pid.zero? }
      end
    end
    Process.singleton_class.prepend(Fork)

    private

    def check(path, max_snapshots)
      raise ArgumentError, "path must begin with / and not end with it, got #{path.inspect}" unless path.match?(%r{\A(?:/[^/?#]+)*\z})
      raise ArgumentError, "max_snapshots must be positive, got #{max_snapshots.inspect}" unless max_snapshots.positive?
    end

    # A viewer is no reason for an application not to boot.
    def profile
      @session = Native.deferred? ? DeferredSession.new : SideSession.new(frequency: FREQUENCY)
      join_cluster
      @timer&.start
    rescue StandardError => e
      Notice.write("[rperf-push] the viewer does not profile: #{e.message}")
    end

    # Forked children stay in that of their parent.
    def join_cluster
      @cluster ||= ViewerCluster.of_this_process.tap { |cluster| @snapshots.share(cluster) if cluster }
      @session.offer(@cluster.name) if @cluster
    end

    # Of one process as it is; of several, each is told by a label.
    def whole(parts)
      return parts.values.first if parts.size == 1 && parts.key?(Process.pid)

      merge = Merge.new
      parts.each { |pid, data| merge.add(data, process: pid, labels: { "%pid": pid.to_s }) }
      merge.data
    end

    # What the page's button asks for. The browser of one who may look must not do it for another site's page.
    def taken(env)
      return text(403, "only the viewer's own page may ask for a snapshot\n") unless own_page?(env)

      take_snapshot! ? text(200, "taken\n") : text(409, "nothing was sampled since the last snapshot\n")
    end

    def own_page?(env) = env[ASKED] == "snapshot" && ["same-origin", nil].include?(env["HTTP_SEC_FETCH_SITE"])

    def silent(count) = ("(#{count} #{count == 1 ? "process" : "processes"} did not answer)" if count.positive?)

    # @return [String, nil] the path in the page
    def below(path)
      return unless path == @path || path.start_with?("#{@path}/")

      path.delete_prefix(@path)
    end

    def text(status, body) = [status, { "content-type" => "text/plain; charset=utf-8", "content-length" => body.bytesize.to_s }, [body]]
  end
end
