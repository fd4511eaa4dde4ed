# frozen_string_literal: true

require_relative "../web_ui/page_app"
require_relative "browser"
require_relative "page_server"
require_relative "profiles"

module RperfPush
  module CLI
    # Files on the page: served to one's own browser, or written out as one file.
    class WebUi
      PORTS = (0..65_535)

      # Whether a command that may print opens the page: a user sits there, or says where to serve it, and asked for no text.
      def self.wanted?(options)
        Options::TEXTS.none? { |key| options[key] } && !(options[:port] || options[:host] || Browser.command).nil?
      end

      # A page to one's own browser, until Ctrl-C.
      #
      # @param app [PageApp]
      # @param options [Hash] :host and :port; nil: 127.0.0.1, and any that is free
      def self.serve(command, app, options)
        host, port = place(command, options)
        Page.read("index.html")
        serve_at(host, port, app)
      rescue Page::Missing => e
        raise Error, "#{command}: #{e.message}"
      rescue SystemCallError, SocketError => e
        raise Error, "#{command}: #{host}:#{port}: #{e.is_a?(SystemCallError) ? CLI.reason(e) : e.message}"
      end

      def self.serve_at(host, port, app)
        redirect = nil
        server = PageServer.new(->(env) { app.call(env).tap { redirect&.delete } }, host:, port:)
        Printer.out "#{server.url}  (Ctrl-C ends it)"
        $stdout.flush
        redirect = Browser.open(server.url)
        server.run
      ensure
        redirect&.delete
      end

      def self.place(command, options)
        port = options[:port] || 0
        raise Error, "#{command}: port must be from #{PORTS.min} to #{PORTS.max}" unless PORTS.cover?(port)

        [options[:host] || "127.0.0.1", port]
      end
      private_class_method :serve_at, :place

      # @param sides [Hash{String, nil => Array<String>}] paths: under "base" and "target", or under nil
      # @param max_bytes [Integer] of each file, uncompressed: the page, too, reads no more
      def initialize(command, sides, max_bytes:, relative: false)
        @command = command
        @limit = Limit.new(max_bytes)
        @max_bytes = max_bytes
        @entries = sides.flat_map { |side, paths| Profiles.files(command, paths).map { |path| entry(path, side) } }
        @title = title(sides.values.flatten)
        @state = "compare=side#{"&relative=1" if relative}" if sides.key?("base")
      rescue ArgumentError => e
        raise Error, "#{command}: #{e.message}"
      end

      # As WebUi.serve.
      def serve(options)
        app = PageApp.new(@title, -> { @entries }, state: @state, source: NamedSources.new(@entries, @limit), max_bytes: @max_bytes)
        self.class.serve(@command, app, options)
      end

      # @return [String]
      def html
        Page.as_one_file(@title, @entries, state: @state, max_bytes: @max_bytes)
      rescue Page::Missing, FormatError => e
        raise Error, "#{@command}: #{e.message}"
      end

      private

      # @param given [Array<String>] files and folders
      def title(given)
        return "#{File.basename(File.expand_path(given.first))}/" if given.size == 1 && File.directory?(given.first)

        names = @entries.map(&:name)
        names.size > 3 ? "#{names.first} … #{names.last}" : names.join(", ")
      end

      def entry(path, side)
        File.open(path) { |file| raise Error, "#{@command}: #{path}: is empty" unless file.getbyte }
        Page::Entry.new(File.basename(path), side, -> { Formats.read(path, @limit) })
      rescue SystemCallError => e
        raise Error, "#{@command}: #{path}: #{CLI.reason(e)}"
      end
    end
  end
end
