# frozen_string_literal: true

require_relative "../base/notice"
require_relative "../version"

module RperfPush
  # Programs that root starts may change their user. One that then cannot read what RUBYOPT loads would not start. So where the gem is in
  # a folder that only root may enter, RUBYLIB begins with a folder that everyone may read: with a copy of the one file that RUBYOPT
  # names. It finds the rest of the gem, or says in a line that it does not.
  #
  # The copy stays: programs of the command may start others for as long as the system runs.
  module LoaderCopy
    FOLDER = "/run/rperf-push-#{VERSION}".freeze # only root can write to /run, and it is emptied when the system starts

    module_function

    # @param library [String] the folder of the gem's files
    # @return [String, nil] a folder for RUBYLIB; nil: none is needed, or there is no place for one
    def folder(feature, library)
      source = "#{library}/#{feature}.rb"
      return if !Process.euid.zero? || open?(source)

      copy(source, "#{FOLDER}/#{feature}.rb")
      FOLDER
    rescue SystemCallError => e
      Notice.write("[rperf-push] Ruby programs that change their user will not start, because #{library} is closed to them: #{e.message}")
      nil
    end

    def open?(file)
      return false unless File.world_readable?(file)

      folder = file
      folder = File.dirname(folder) while folder != "/" && File.stat(File.dirname(folder)).mode.anybits?(0o001)
      folder == "/"
    end

    def copy(source, path)
      [FOLDER, File.dirname(path)].each { |folder| make(folder) }
      mine = "#{path}.#{Process.pid}"
      File.binwrite(mine, File.binread(source))
      File.chmod(0o644, mine)
      File.rename(mine, path)
    end

    def make(folder)
      Dir.mkdir(folder)
    rescue Errno::EEXIST
      nil
    ensure
      File.chmod(0o755, folder) if File.directory?(folder)
    end
    private_class_method :open?, :copy, :make
  end
end
