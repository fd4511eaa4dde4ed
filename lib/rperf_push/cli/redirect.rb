# frozen_string_literal: true

require "cgi/escape"
require "fileutils"
require "uri"
require_relative "../sessions/session_folder"

module RperfPush
  module CLI
    # A file that leads a browser to an address. All users of a machine can read a command line, so an address with a token in it must not
    # be an argument of the browser. Only this user can read the file.
    class Redirect
      HTML = <<~HTML
        <!doctype html>
        <meta charset="utf-8">
        <meta name="referrer" content="no-referrer">
        <meta http-equiv="refresh" content="0; url=%<url>s">
        <title>rperf-push</title>
        <a href="%<url>s">The page of rperf-push</a>
      HTML

      # @raise [SystemCallError] when there is no folder of this user alone
      def initialize(url)
        @path = File.join(SessionFolder.own_base, "view-#{Process.pid}-#{object_id}.html")
        File.open(@path, File::WRONLY | File::CREAT | File::EXCL, 0o600, binmode: true) { |file| file.write(format(HTML, url: CGI.escapeHTML(url))) }
      end

      # @return [String]
      def url = "file://#{URI::DEFAULT_PARSER.escape(@path)}"

      # Once the browser has come it needs it no more.
      def delete
        FileUtils.rm_f(@path)
      end
    end
  end
end
