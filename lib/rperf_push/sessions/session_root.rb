# frozen_string_literal: true

require_relative "../base/notice"
require_relative "session_folder"

module RperfPush
  # What `record` does around a command, done by the program itself: `record --print-env` has a shell export it, and the first Ruby
  # program there is the root. It makes the session's folder, and at its end the file. Its children find the folder in ENV.
  module SessionRoot
    module_function

    # @raise [SystemCallError]
    def begin
      ENV[name_of("DIR")] = SessionFolder.create.path unless setting("DIR") # else another program did, which became this one by exec
      @folder = SessionFolder.new(setting("DIR"))
      @pid = Process.pid
      at_exit { finish } # after the session's own, which comes later and runs earlier
    end

    # Whatever happens here, the program ends as it would have.
    def finish
      return unless @pid == Process.pid

      data = @folder.merged(root: @pid, raw: !StartOptions.of_text(setting("OPTIONS"))[:aggregate])
      write(data.merge(meta:)) if data
    rescue StandardError, LoadError => e
      Notice.write("[rperf-push] #{setting("OUTPUT")}: #{e.message.lines.first.to_s.chomp}; the profile is lost")
    ensure
      @folder.remove if @pid == Process.pid
    end

    def write(data)
      require "rperf_push/verbose"
      Notice.write(Verbose.text(data)) if setting("VERBOSE")
      output = setting("OUTPUT")
      output = SessionFolder.snapshot_path(output, data[:meta]) if output.end_with?("/")
      RperfPush.save(output, data, format: setting("FORMAT"))
    end

    # Asked before the program started.
    def meta
      require "json"
      JSON.parse(setting("META") || "{}", symbolize_names: true)
    end

    def name_of(variable) = "RPERF_PUSH_SESSION_#{variable}"
    # The command line speaks UTF-8, whatever the locale is.
    def setting(variable) = ENV.fetch(name_of(variable), nil)&.dup&.force_encoding(Encoding::UTF_8)
    private_class_method :write, :meta, :name_of, :setting
  end
end
