# frozen_string_literal: true

require "optparse"
require "rperf_push"

module RperfPush
  module CLI
    # The settings of one call of the program: the environment's, over them those of an initializer file, over them the
    # options given.
    class Settings
      FLAGS = {
        "--server URL" => ["server_address", "where to push to"],
        "--backend NAME" => ["backend", "pyroscope, pyroscope_ingest, parca, http or directory"],
        "--directory DIR" => ["directory", "where backend directory writes"],
        "--application NAME" => ["application_name", "the service's name"]
      }.freeze

      # @return [Hash{String => Object}] what the options of the command line say, by option name
      attr_reader :flags

      def initialize
        @flags = {}
      end

      # @param parser [OptionParser]
      def declare(parser, config: true)
        FLAGS.each { |flag, (option, text)| parser.on(flag, text) { |value| @flags[option] = value } }
        parser.on("--config FILE", "an initializer to take settings from; nothing is started") { |file| @file = file } if config
      end

      # @return [Hash{String => Object}] what goes over the environment
      def given
        @given ||= (@file ? from_file(@file) : {}).merge(@flags)
      end

      # @return [Hash{String => Array(String, String)}]
      def texts
        @texts ||= Environment.new(ENV).texts.except(*given.keys)
      end

      # @return [Boolean] whether somebody chose the option, and not the default
      def chosen?(option)
        given.key?(option) || (texts.key?(option) && texts[option].last != "the program's name")
      end

      # @return [Boolean] whether the server's address holds a user and a password
      def credentials_in_address?
        address = given["server_address"] || texts.dig("server_address", 0)
        address.to_s.match?(%r{\A[^/]*//[^/?#]*@})
      end

      private

      # What the last `configure` of the file says.
      def from_file(path)
        raise Mistake, "#{path}: no such file" unless File.file?(path)

        configuration = Captured.from { load(File.expand_path(path)) }
        raise Mistake, "#{path} does not call RperfPush.configure" unless configuration

        configuration.given
      rescue ScriptError, StandardError => e
        raise e if e.is_a?(Mistake)

        raise Mistake, "#{path} could not be loaded: #{e.message.lines.first.to_s.chomp} (#{e.class})"
      end

      # Stands before `RperfPush.configure` while a file is loaded: takes the settings and starts nothing.
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
