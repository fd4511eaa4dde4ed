# frozen_string_literal: true

require "etc"
require "fileutils"
require "rbconfig"
require_relative "peers"

# What a run leaves behind: the sections in one Markdown file, the plots beside it.
class Report
  MEASURED = /(?<=<!-- measured -->\n).*(?=<!-- end -->)/m

  # @param plots [String] the folder for plots
  def initialize(folder, plots: folder)
    @folder = folder
    @plots = plots
    @sections = []
    FileUtils.mkdir_p([folder, plots])
  end

  # Saves a plot, and returns the Markdown that shows it.
  def plot(name, plot)
    File.write(File.join(@plots, "#{name}.svg"), plot.to_s)
    "![#{name}](#{"#{File.basename(@plots)}/" unless @plots == @folder}#{name}.svg)"
  end

  # @return [String] the path of the file; it holds what there is so far
  def add(section)
    @sections << section
    path = File.join(@folder, "report.md")
    File.write(path, "#{self}\n")
    path
  end

  # Puts the sections between the marks of a page.
  def publish(page)
    text = File.read(page)
    raise "#{page} has no place for what was measured" unless text.match?(MEASURED)

    File.write(page, text.sub(MEASURED) { "\n#{self}\n\n" })
  end

  def to_s = [machine, *@sections].join("\n\n")

  private

  def machine
    "Measured with #{RUBY_DESCRIPTION[/\Aruby \S+/]} on #{Etc.nprocessors} cores (#{processor}), #{RbConfig::CONFIG["host_os"]}, at a " \
      "load of #{load_average}. #{Peers.versions.join(", ")}."
  end

  def processor = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.*)$/, 1] || "unknown"
  def load_average = File.read("/proc/loadavg")[/\S+ \S+/].sub(" ", " to ")
end
