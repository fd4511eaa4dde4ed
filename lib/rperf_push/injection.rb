# frozen_string_literal: true

module RperfPush
  # An environment in which every Ruby program first loads a feature of this copy of the gem.
  module Injection
    module_function

    # @param now [#[]] the environment to build on
    # @return [Hash{String => String}]
    def environment(feature, now = ENV)
      { "RUBYOPT" => rubyopt("-r#{feature}", now["RUBYOPT"].to_s), "RUBYLIB" => rubylib(now["RUBYLIB"].to_s) }
    end

    def rubyopt(flag, old)
      old.split.include?(flag) ? old : "#{flag} #{old}".strip
    end

    # The folders of this copy and of its library, which RubyGems may keep elsewhere.
    def rubylib(old)
      library = $LOADED_FEATURES.find { |path| path.match?(%r{/rperf_push\.(so|bundle)\z}) }
      folder = library&.sub(%r{/rperf_push/(?:[\d.]+/)?rperf_push\.\w+\z}, "")
      [Native::LIB_DIR, folder, *old.split(File::PATH_SEPARATOR)].compact.uniq.join(File::PATH_SEPARATOR)
    end
    private_class_method :rubyopt, :rubylib

    # Has the programs that this one starts load a feature, for a while.
    class Offer
      SEPARATORS = { "RUBYOPT" => " ", "RUBYLIB" => File::PATH_SEPARATOR }.freeze

      # @param variables [Hash{String => String}] for them as well
      def initialize(feature, variables)
        @given = { **Injection.environment(feature), **variables }
        @before = @given.to_h { |name, _| [name, ENV.fetch(name, nil)] }
        ENV.update(@given)
      end

      # The environment is as it was, but for what the program itself has changed.
      def withdraw
        @given.each { |name, value| ENV[name] = ENV.fetch(name, nil) == value ? @before[name] : rest(name) }
        @given = {}
      end

      private

      # What is in the variable now, without what was put into it.
      def rest(name)
        now = ENV.fetch(name, nil)
        separator = SEPARATORS[name]
        return now unless now && separator

        left = now.split(separator) - (@given[name].split(separator) - @before[name].to_s.split(separator))
        left.join(separator) if left.any? || @before[name]
      end
    end
  end
end
