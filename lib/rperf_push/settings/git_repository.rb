# frozen_string_literal: true

require_relative "git_process"

module RperfPush
  # What the files of a repository say. Its configuration can name programs that git runs (core.fsmonitor, filters, a remote of a partial
  # clone), so git never sees this configuration.
  class GitRepository
    MAX_BYTES = 64 * 1024 * 1024 # of a file; packed-refs has a line for each branch and tag
    ID = /\A(?:\h{40}|\h{64})\z/
    REF = %r{\Aref: (refs/[^\0\n]+)\z}
    URL = /\Aurl\s*=\s*(?:"(?<quoted>[^"]*)"|(?<plain>[^#;]*))/i
    LINKS = 5 # a ref may name another one

    # @param directory [String, nil] nil: there is none
    # @param given [String, nil] GIT_DIR, with which the user names another one
    # @return [GitRepository, nil] the one that the folder is in
    def self.around(directory, given = nil)
      return unless directory

      top = directory = File.realpath(directory)
      return new(directory, directory, File.expand_path(given, directory)) unless given.to_s.empty?

      owners = [Process.euid, 0, File.stat(directory).uid]
      top = File.dirname(top) until File.exist?("#{top}/.git") || top == "/"
      return unless File.exist?("#{top}/.git") && owners.include?(File.lstat("#{top}/.git").uid)

      new(top, directory)
    rescue SystemCallError
      nil
    end

    # A file that is no regular one, such as a FIFO, is not read: the reader would wait for ever.
    #
    # @return [String, nil]
    def self.read(path)
      File.open(path, File::RDONLY | File::NONBLOCK | File::BINARY) { |file| file.read(MAX_BYTES) if file.stat.file? }
    rescue SystemCallError, ArgumentError
      nil
    end

    # @param top [String] its folder
    # @param directory [String] below it
    # @param given [String, nil] its own files, if they are elsewhere
    def initialize(top, directory, given = nil)
      @top = top
      @directory = directory
      @own = given || own_folder
      common = line("#{@own}/commondir")
      @common = common ? File.expand_path(common, @own) : @own
    end

    # @return [String, nil] "HEAD" where no branch is checked out
    def branch = (head = line("#{@own}/HEAD")) && (head[REF, 1]&.delete_prefix("refs/heads/") || "HEAD")

    # @param name [String] a commit's id, HEAD, a branch or a tag
    # @return [String, nil]
    def id_of(name)
      return name if ID.match?(name)

      ["HEAD", "refs/heads/#{name}", "refs/tags/#{name}"].drop(name == "HEAD" ? 0 : 1).filter_map { |ref| followed(ref) }.first
    end

    # @return [String, nil] the folder that it was looked for from, seen from its top
    def prefix = (@directory.delete_prefix(@top).delete_prefix("/") unless @directory == @top)

    # @return [String, nil] the address of origin
    def remote
      section = url = nil
      self.class.read("#{@common}/config").to_s.each_line do |text|
        text = text.strip
        section = text[/\A\[([^\]]*)\]/, 1] || section
        found = URL.match(text.sub(/\A\[[^\]]*\]\s*/, "")) if section&.match?(/\Aremote\s+"origin"\z/i)
        url = (found[:quoted] || found[:plain]).strip if found
      end
      url
    end

    # @return [String, nil] the commit as git keeps it: fields, an empty line, the message
    def commit(id) = (GitProcess.commit("#{@common}/objects", id) if ID.match?(id))

    private

    # A worktree or a submodule has a file where others have a folder.
    def own_folder
      place = "#{@top}/.git"
      File.directory?(place) ? place : File.expand_path(line(place).to_s[/\Agitdir: (.+)\z/, 1].to_s, @top)
    end

    def line(path) = self.class.read(path)&.each_line(chomp: true)&.first

    def followed(ref, links = LINKS)
      return if links.zero? || ref.split("/").include?("..")

      said = line("#{@own}/#{ref}") || line("#{@common}/#{ref}") || packed(ref)
      said&.match?(REF) ? followed(said[REF, 1], links - 1) : said&.slice(ID)
    end

    def packed(ref)
      self.class.read("#{@common}/packed-refs")&.each_line(chomp: true)&.find { |text| text.end_with?(" #{ref}".b) }&.split&.first
    end
  end
end
