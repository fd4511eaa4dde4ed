# frozen_string_literal: true

require_relative "redirect"

module RperfPush
  module CLI
    # The browser of the user at the terminal: none over ssh, in a container, in CI.
    module Browser
      module_function

      # @return [String, nil] the program that opens an address
      def command(env = ENV)
        return unless $stdin.tty? && $stdout.tty?
        return env["BROWSER"] if program?(env["BROWSER"].to_s, env)
        return "open" if RUBY_PLATFORM.include?("darwin") && !env["SSH_CONNECTION"]

        "xdg-open" if (env["DISPLAY"] || env["WAYLAND_DISPLAY"]) && program?("xdg-open", env)
      end

      # Without waiting for it.
      #
      # @return [Redirect, nil] to be deleted; nil: there is no browser
      def open(url)
        program = command or return
        redirect = Redirect.new(url)
        Process.detach(Process.spawn(program, redirect.url, in: File::NULL, out: File::NULL, err: File::NULL, pgroup: true))
        redirect
      rescue SystemCallError => e
        Printer.err "rperf-push: #{program}: #{CLI.reason(e)}"
        redirect
      end

      def program?(name, env)
        return false if name.empty?
        return File.executable?(name) if name.include?("/")

        env["PATH"].to_s.split(":").any? { |folder| File.executable?(File.join(folder, name)) }
      end
      private_class_method :program?
    end
  end
end
