# frozen_string_literal: true

module RperfPush
  # An environment in which every Ruby program first loads a feature of this copy of the gem.
  module Injection
    SEPARATORS = { "RUBYOPT" => " ", "RUBYLIB" => File::PATH_SEPARATOR }.freeze

    module_function

    # @param now [#[]] the environment to build on
    # @return [Hash{String => String}]
    def environment(feature, now = ENV)
      { "RUBYOPT" => rubyopt("-r#{feature}", now["RUBYOPT"].to_s), "RUBYLIB" => rubylib(feature, now["RUBYLIB"].to_s) }
    end

    def rubyopt(flag, old)
      old.split.include?(flag) ? old : "#{flag} #{old}".strip
    end

    # The folders of this copy and of its library, which RubyGems may keep elsewhere.
    def rubylib(feature, old)
      require_relative "sessions/loader_copy"
      copy = LoaderCopy.folder(feature, Native::LIB_DIR)
      library = $LOADED_FEATURES.find { |path| path.match?(%r{/rperf_push\.(so|bundle)\z}) }
      folder = library&.sub(%r{/rperf_push/(?:[\d.]+/)?rperf_push\.\w+\z}, "")
      [copy, Native::LIB_DIR, folder, *old.split(File::PATH_SEPARATOR)].compact.uniq.join(File::PATH_SEPARATOR)
    end

    # @param variables [Hash{String => String}] of {environment}
    # @return [String] what was put into RUBYLIB
    def paths(variables, now = ENV)
      (Offer.parts("RUBYLIB", variables["RUBYLIB"]) - Offer.parts("RUBYLIB", now["RUBYLIB"])).join(File::PATH_SEPARATOR)
    end
    private_class_method :rubyopt, :rubylib

    # What a session has in the environment of its processes, for the programs that they start: one of `inherit: true`, or of
    # `record`. This file needs nothing of the gem but to make one.
    class Offer
      SESSION_FEATURE = "rperf_push/session"
      SESSION_VARIABLES = /\ARPERF_PUSH_SESSION_/
      SESSION_PATHS = "RPERF_PUSH_SESSION_PATHS"
      FEATURE = "rperf_push/inherited"
      FOLDER = "RPERF_PUSH_INHERITED_DIR"
      TERMS = "RPERF_PUSH_INHERITED" # the process that has begun the session, and how
      PATHS = "RPERF_PUSH_INHERITED_PATHS" # what was put into RUBYLIB

      class << self
        # One to make.
        def of(folder, options)
          variables = Injection.environment(FEATURE)
          given = { **variables, FOLDER => folder, TERMS => options, PATHS => Injection.paths(variables) }
          new(given, given.to_h { |name, _| [name, ENV.fetch(name, nil)] })
        end

        # The one that a process above has made.
        def found = standing(FEATURE, [FOLDER, TERMS, PATHS], PATHS)

        # The one that `record` has made.
        def of_session = standing(SESSION_FEATURE, ENV.keys.grep(SESSION_VARIABLES), SESSION_PATHS)

        def parts(name, text) = text.to_s.split(SEPARATORS[name])

        private

        def standing(feature, variables, paths)
          put_in = { "RUBYOPT" => ["-r#{feature}"], "RUBYLIB" => parts("RUBYLIB", ENV.fetch(paths, nil)) }
          left = put_in.to_h { |name, added| [name, parts(name, ENV.fetch(name, nil)) - added] }
          before = left.to_h { |name, parts| [name, (parts.join(SEPARATORS[name]) if parts.any?)] }
          given = [*before.keys, *variables].to_h { |name| [name, ENV.fetch(name, nil)] }
          new(given, before)
        end
      end

      # @param given [Hash{String => String, nil}]
      # @param before [Hash{String => String, nil}] what was there instead
      def initialize(given, before)
        @given = given
        @before = before
      end

      def folder = @given[FOLDER].to_s
      def options = @given[TERMS].to_s

      def make = ENV.update(@given)

      # The environment is as it was, but for what the program itself has changed.
      def withdraw
        @given.each { |name, value| ENV[name] = ENV.fetch(name, nil) == value ? @before[name] : rest(name) }
        @given = {}
      end

      private

      # What is in the variable now, without what was put into it.
      def rest(name)
        now = ENV.fetch(name, nil)
        return now unless now && SEPARATORS[name]

        given, before = [@given, @before].map { |one| Offer.parts(name, one[name]) }
        left = Offer.parts(name, now) - (given - before)
        left.join(SEPARATORS[name]) if left.any? || @before[name]
      end
    end
  end
end
