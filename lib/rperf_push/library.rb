# frozen_string_literal: true

module RperfPush
  # The compiled extension: how it is found, and why it cannot be loaded.
  module Library
    SERIES = RUBY_VERSION[/\A\d+\.\d+/]
    # What it needs of the system, and the packages of Debian and Ubuntu that have it.
    PACKAGES = { "libcurl.so.4" => "libcurl4", "libz.so.1" => "zlib1g" }.freeze

    class << self
      # A checkout and a precompiled gem have one library for each series of Ruby; a gem that was compiled at its installation has one.
      #
      # @return [void]
      # @raise [LoadError] with the reason, in one line
      def load
        require "rperf_push/#{SERIES}/rperf_push"
      rescue LoadError => e
        e.path&.start_with?("rperf_push/") ? load_only_one : explain(e)
      end

      private

      def load_only_one
        require "rperf_push/rperf_push"
      rescue LoadError => e
        others = Dir.glob("*/rperf_push.{so,bundle}", base: __dir__).map { |path| File.dirname(path) }.sort
        raise if others.empty? || !e.path&.start_with?("rperf_push/")

        fail_with("was compiled for Ruby #{others.join(" and ")}; `gem install rperf-push --platform ruby` compiles it for #{SERIES}", e)
      end

      def explain(error)
        missing = error.message[/\A(\S+): cannot open shared object file/, 1] or raise error
        package = PACKAGES[missing]
        fail_with("needs #{missing}, please install #{package ? "#{package} (Debian, Ubuntu)" : "it"}", error)
      end

      def fail_with(reason, error) = raise LoadError, "rperf-push #{reason}", error.backtrace, cause: nil
    end
  end
end
