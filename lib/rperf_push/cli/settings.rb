# frozen_string_literal: true

require "optparse"
require "rperf_push"

module RperfPush
  module CLI
    # The settings of one call of the program. Command line options override an initializer file, which overrides the
    # environment.
    class Settings
      FLAGS = {
        "--server URL" => ["server_address", "where to push to"],
        "--backend NAME" => ["backend", "pyroscope, pyroscope_ingest, parca, http or directory"],
        "--directory DIR" => ["directory", "write files there: means backend directory"],
        "--application NAME" => ["application_name", "the service's name"]
      }.freeze

      def initialize
        @flags = {}
      end

      # @param parser [OptionParser]
      def declare(parser, config: true)
        FLAGS.each { |flag, (option, text)| parser.on(flag, text) { |value| @flags[option] = value } }
        parser.on("--config FILE", "an initializer to take settings from; nothing is started") { |file| @file = file } if config
      end

      # A directory on the command line overrides a backend that is set elsewhere.
      #
      # @return [Hash{String => Object}] the options of the command line, by option name
      def flags
        @flags.key?("directory") ? { "backend" => "directory", **@flags } : @flags
      end

      # @return [Hash{String => Object}] the options that override the environment
      def given
        @given ||= (@file ? from_file(@file) : {}).merge(flags)
      end

      # @return [Hash{String => Array(String, String)}]
      def texts
        given # of a file's configuration, with its defaults
        (@texts || Environment.new(ENV).texts).except(*given.keys)
      end

      # @return [Boolean] true if the option is set, false if it has its default
      def chosen?(option)
        given.key?(option) || (texts.key?(option) && texts[option].last != Environment::PROGRAM_NAME)
      end

      # @return [Boolean] true if the server's address contains a user and a password
      def credentials_in_address?
        address = given["server_address"] || texts.dig("server_address", 0)
        address.to_s.match?(%r{\A[^/]*//[^/?#]*@})
      end

      private

      # The settings of the last `configure` in the file.
      def from_file(path)
        raise Error, "#{path}: no such file" unless File.file?(path)

        @texts, given = configuration_in(path).over(Environment.new(ENV).texts).reverse
        given
      rescue ScriptError, StandardError => e
        raise e if e.is_a?(Error)

        raise Error, "#{path} could not be loaded: #{e.message.lines.first.to_s.chomp} (#{e.class})"
      end

      def configuration_in(path)
        load_rails_for(path)
        Captured.from { load(File.expand_path(path)) } or raise Error, "#{path} does not call RperfPush.configure"
      end

      # An initializer of a Rails application finds the application defined, but not booted.
      def load_rails_for(path)
        application = File.expand_path("../application.rb", File.dirname(path))
        return if defined?(::Rails.application)

        if File.file?(application)
          require application
        elsif File.binread(path).match?(/\bRails\b/n)
          require "rails"
        end
      end

      # Replaces `RperfPush.configure` while a file is loaded: it stores the settings and starts nothing.
      module Captured
        class << self
          attr_accessor :active, :configuration

          def from
            RperfPush.singleton_class.prepend(Captured)
            self.active = true
            yield
            configuration
          ensure
            self.active = false
          end
        end

        def configure(&block)
          return super unless Captured.active

          Captured.configuration = Configuration.new.tap { |configuration| block&.call(configuration) }
          true
        end
        alias configure! configure
      end
    end
  end
end
