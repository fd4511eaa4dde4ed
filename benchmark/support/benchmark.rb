# frozen_string_literal: true

require "bundler/setup"
require "etc"
require "optparse"
require_relative "progress"
require_relative "runner"
require_relative "statistics"
require_relative "table"

# One question and how it is answered. Each is a program of its own, and a section of what run.rb writes.
class Benchmark
  # profilers: those to compare, nil for all; quick: only to see that it works; flags: of the interpreter
  Settings = Struct.new(:rounds, :profilers, :quick, :flags, keyword_init: true)

  class << self
    # Runs it when its file is the program.
    def main(file)
      return unless File.identical?(file, $PROGRAM_NAME)

      puts new(settings_from(ARGV)).report
    end

    def settings_from(arguments)
      settings = Settings.new(flags: [])
      OptionParser.new do |parse|
        parse.on("--rounds N", Integer, "how often each case runs") { |rounds| settings.rounds = rounds }
        parse.on("--profilers A,B", Array, "only these") { |names| settings.profilers = names }
        parse.on("--quick", "only to see that it works") { settings.quick = true }
        parse.on("--yjit", "with YJIT") { settings.flags = ["--yjit"] }
      end.parse!(arguments)
      settings
    rescue OptionParser::ParseError => e
      abort "benchmark: #{e.message}"
    end
  end

  # @param report [Report, nil] where plots go
  def initialize(settings, progress: Progress.new, report: nil)
    @settings = settings
    @progress = progress
    @report = report
  end

  # @return [String] Markdown
  def report
    @progress.heading(self.class::TITLE)
    @runner = Runner.new(@progress)
    text = sections
    @progress.clear
    ["## #{self.class::TITLE}", text, *failures].join("\n\n")
  ensure
    @runner&.close
  end

  private

  # A measured section in Markdown, from @runner.
  def sections = raise(NotImplementedError)

  def rounds(usual) = @settings.rounds || (@settings.quick ? 1 : usual)
  def quick? = @settings.quick

  def wanted(cases) = @settings.profilers ? cases.select { |one| @settings.profilers.include?(one.name) } : cases

  def failures
    return [] if @runner.failures.empty?

    [@runner.failures.uniq.map { |failure| "* Not measured: #{failure}" }.join("\n")]
  end
end
