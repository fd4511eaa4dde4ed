# frozen_string_literal: true

require "cgi/escape"
require "uri"
require_relative "../data/formats"
require_relative "../data/named_sources"
require_relative "page"
require_relative "../data/source_files"

module RperfPush
  # Answers what the page asks for: itself, the list of profiles, their bytes, and source lines. A Rack application.
  class PageApp
    HEADERS = {
      "content-security-policy" => Page::SERVED_POLICY, "x-content-type-options" => "nosniff", "referrer-policy" => "no-referrer",
      "cache-control" => "no-store"
    }.freeze

    LIVE = %w[updates here gone].freeze

    # @param entries [#call] the Page::Entry of now
    # @param source [NamedSources, nil] the source files that may be read; nil: none
    # @param live [Hash, nil] `feed`: a LiveFeed, `interval_ms`, how often it is asked, and `trace`, whether it is of calls
    # @param max_bytes [Integer, nil] of a file, uncompressed; nil: what the page reads by itself
    # @param takes [Boolean] the page may ask for a snapshot with a POST to `snapshot`
    def initialize(title, entries, state: nil, source: nil, live: nil, max_bytes: nil, takes: false)
      @title = title
      @entries = entries
      @state = state
      @source = source
      @live = live
      @max_bytes = max_bytes
      @takes = takes
    end

    def call(env)
      return answer(405, "text/plain", "GET only\n") unless %w[GET HEAD].include?(env["REQUEST_METHOD"])

      status, type, body = route(env["SCRIPT_NAME"].to_s, env["PATH_INFO"].to_s, env["QUERY_STRING"].to_s)
      answer(status, type, env["REQUEST_METHOD"] == "HEAD" ? "" : body)
    rescue Page::Missing, SystemCallError, FormatError, ArgumentError => e
      answer(500, "text/plain", "#{e.message}\n")
    end

    private

    # @return [Array(Integer, String, String)] status, type, body
    def route(root, path, query)
      name = path.delete_prefix("/")
      return [200, Page::TYPES["index.html"], index("#{root}/")] if ["", "index.html"].include?(name)
      return [200, Page::TYPES[name], Page.read(name)] if Page::TYPES.key?(name)
      return [200, "application/json", JSON.generate(manifest)] if name == "profiles.json"

      found(name, query) || [404, "text/plain", "not here\n"]
    end

    # With the address of everything else in it: a router may take the slash off that of the page.
    def index(root)
      root = CGI.escapeHTML(root)
      Page.read("index.html").sub("<body>") { "<body data-root=\"#{root}\">" }.gsub(%r{(src|href)="\./}) { "#{$1}=\"#{root}" }
    end

    def found(name, query)
      return live(name, query) if @live && LIVE.include?(name)

      if name == "source"
        source(URI.decode_www_form(query).to_h["path"].to_s)
      elsif (index = name[%r{\Afiles/(\d{1,6})\z}, 1])
        entry = @entries.call[index.to_i]
        [200, "application/octet-stream", entry.bytes.call] if entry
      end
    end

    def source(path)
      text = SourceFiles.read(path) if @source&.include?(path)
      [200, "text/plain; charset=utf-8", text] if text
    end

    # What a page says of itself, and what it asks for.
    def live(name, query)
      feed = @live[:feed]
      return [200, "text/plain", feed.audience.public_send(name).then { "" }] unless name == "updates"

      since = Integer(URI.decode_www_form(query).to_h.fetch("since", "0"), 10)
      [200, "application/octet-stream", feed.answer(since)]
    end

    def manifest
      live = @live&.slice(:interval_ms, :trace)
      Page.manifest(@title, @entries.call, state: @state, source: !@source.nil?, live:, max_bytes: @max_bytes, takes: @takes || nil)
    end

    def answer(status, type, body) = [status, { **HEADERS, "content-type" => type, "content-length" => body.bytesize.to_s }, [body]]
  end
end
