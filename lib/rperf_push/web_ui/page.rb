# frozen_string_literal: true

require "digest"
require "json"
require "zlib"

module RperfPush
  # The page that shows profiles: built from page/ in the checkout, carried in the packaged gem. It decodes files itself, so that
  # what serves it, or puts it into one file, only hands their bytes on.
  module Page
    class Missing < StandardError; end

    # A file that is shown; `side` is "base" or "target" in a comparison. `bytes` answers with what is in it.
    Entry = Struct.new(:name, :side, :bytes)

    FOLDERS = [File.join(__dir__, "page"), File.expand_path("../../../tmp/page", __dir__)].freeze
    TYPES = {
      "index.html" => "text/html; charset=utf-8", "page.js" => "text/javascript; charset=utf-8", "page.css" => "text/css; charset=utf-8"
    }.freeze
    # The thread that reads files is a blob: nothing is fetched for it, and its policy is the page's.
    POLICY = "default-src 'none'; script-src %s; style-src %s; connect-src %s; worker-src blob:; img-src data:; " \
             "base-uri 'none'; form-action 'none'"
    SERVED_POLICY = "#{format(POLICY, *["'self'"] * 3)}; frame-ancestors 'none'".freeze
    GZIP = "\x1F\x8B".b
    MISSING = "this copy of rperf-push has no page: one from git, or packed by `gem build`, comes without it. In a checkout, " \
              "`bin/setup test` and `rake page` build it, and `rake build` packs a gem with it. `rperf-push report` needs none"

    module_function

    # @param name [String] a key of TYPES
    # @return [String]
    # @raise [Missing]
    def read(name)
      folder = FOLDERS.find { |one| File.exist?(File.join(one, "index.html")) }
      raise Missing, MISSING unless folder

      File.binread(File.join(folder, name)).force_encoding(Encoding::UTF_8)
    end

    # @param state [String, nil] what an address without a state shows, as it stands behind the #
    # @param live [Hash, nil] how often the page asks for `updates`
    # @param max_bytes [Integer, nil] how much of a file the page reads, uncompressed
    # @param takes [Boolean, nil] the page has a button that takes a snapshot
    def manifest(title, entries, state: nil, source: false, live: nil, max_bytes: nil, takes: nil)
      files = entries.each_with_index.map { |entry, index| { name: entry.name, url: "files/#{index}", side: entry.side }.compact }
      { title:, files:, state:, source:, live:, max_bytes:, takes: }.compact
    end

    # All in one file, which asks no server for anything. Data is Base64: nothing in it can be read as HTML.
    #
    # @return [String]
    def as_one_file(title, entries, state: nil, max_bytes: nil)
      style = read("page.css")
      script = read("page.js").gsub("</script", "<\\/script").gsub("<!--", "<\\!--")
      policy = format(POLICY, digest(script), digest(style), "'none'")
      read("index.html")
        .sub("<head>") { "<head><meta http-equiv=\"Content-Security-Policy\" content=\"#{policy}\" />" }
        .sub(/<link rel="stylesheet"[^>]*>/) { "<style>#{style}</style>" }
        .sub(%r{<script type="module"[^>]*></script>}, "")
        .sub("</body>") do
          "#{data(manifest(title, entries, state:, max_bytes:), entries)}<script type=\"module\">#{script}</script></body>"
        end
    end

    def data(manifest, entries)
      parts = { "manifest" => JSON.generate(manifest) }
      entries.each_with_index { |entry, index| parts["file-#{index}"] = packed(entry.bytes.call) }
      parts.map { |id, bytes| "<script type=\"text/plain\" id=\"#{id}\">#{[bytes].pack("m0")}</script>\n" }.join
    end

    def packed(bytes) = bytes.start_with?(GZIP) ? bytes : Zlib.gzip(bytes)
    def digest(text) = "'sha256-#{Digest::SHA256.base64digest(text)}'"
    private_class_method :data, :packed, :digest
  end
end
