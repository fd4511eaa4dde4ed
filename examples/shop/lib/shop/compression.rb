# frozen_string_literal: true

require "zlib"

module Shop
  # Middleware: compresses whole answers before they leave, so that the work counts for the request that caused it.
  class Compression
    WORTHWHILE_BYTES = 860

    def initialize(app)
      @app = app
    end

    def call(env)
      status, headers, body = @app.call(env)
      return [status, headers, body] unless wanted?(env, headers, body)

      bytes = compress(body.first)
      [status, headers.merge("content-encoding" => "gzip", "vary" => "accept-encoding",
                             "content-length" => bytes.bytesize.to_s), [bytes]]
    end

    private

    def wanted?(env, headers, body)
      env["HTTP_ACCEPT_ENCODING"].to_s.include?("gzip") && headers["content-type"].match?(/html|json/) &&
        body.first.bytesize >= WORTHWHILE_BYTES
    end

    def compress(text) = Zlib.gzip(text, level: Zlib::DEFAULT_COMPRESSION)
  end
end
