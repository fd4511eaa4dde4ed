# frozen_string_literal: true

require "optparse"
require_relative "support/sink"
require_relative "support/statistics"
require_relative "support/table"
require_relative "support/web_application"

# application.rb - what the profiler costs a web application that others wrote: CPU time of a request, on Puma.
#
#   ruby benchmark/application.rb CHECKOUT [--rounds 2] [--turns 15] [--pages 40] [--yjit]
#
# CHECKOUT has its gems and its database. The application runs with the environment of this program, so RAILS_ENV and the like belong
# there. It is visited as a guest would: "/", and the pages that it links to. In each round one server of each case
# runs; in each turn all of them serve the same pages, one server after the other, in random order. Two servers have no profiler:
# how much they differ is the error of the method.
class ApplicationBenchmark
  CASES = {
    "none" => nil,
    "none, again" => nil,
    "cpu, wall" => { "RPERF_PUSH_MODE" => "cpu,wall" },
    "cpu, wall, alloc" => { "RPERF_PUSH_MODE" => "cpu,wall,alloc" },
    "the same with outcome_labels" => { "RPERF_PUSH_MODE" => "cpu,wall,alloc", "RPERF_PUSH_OUTCOME_LABELS" => "true" }
  }.freeze
  CLIENTS = 4
  WARM_UPS = 3

  def initialize(checkout, rounds:, turns:, pages:, yjit:)
    @checkout = checkout
    @rounds = rounds
    @turns = turns
    @pages = pages
    @yjit = yjit
    @runs = CASES.transform_values { [] } # CPU seconds of each turn
    @errors = Hash.new(0)
    @own = Hash.new(0.0)
  end

  def run
    @sink = Sink.new
    @rounds.times { |round| measure(round) }
    [heading, table].join("\n\n")
  ensure
    @sink.close
  end

  private

  def measure(round)
    servers = CASES.to_h { |name, settings| [name, WebApplication.new(@checkout, profiled(settings), yjit: @yjit)] }
    servers.each_value(&:wait)
    @paths ||= servers["none"].pages(@pages)
    (WARM_UPS + @turns).times do |turn|
      warn "round #{round + 1}, turn #{turn - WARM_UPS + 1} of #{@turns}, #{@paths.size} pages, load #{load_average}"
      servers.to_a.shuffle.each { |name, server| visit(name, server, turn >= WARM_UPS) }
    end
  ensure
    servers&.each_value(&:stop)
  end

  # nil: not at all
  def profiled(settings) = settings && { "RPERF_PUSH_SERVER_ADDRESS" => @sink.url, **settings }

  def visit(name, server, counted)
    own, before = server.own, server.cpu
    @errors[name] += server.visit(@paths, clients: CLIENTS)
    return unless counted

    @runs[name] << (server.cpu - before)
    @own[name] += server.own - own
  end

  def heading
    "#{File.basename(@checkout)} on Ruby #{RUBY_VERSION}#{" with YJIT" if @yjit}: #{@paths.size} pages a turn, " \
      "#{@rounds} rounds of #{@turns} turns, #{CLIENTS} clients, load #{load_average}"
  end

  # Pairs are of the same turn. Own is what the profiler's threads used and what it measures of its work in the application's threads: all
  # but what the VM does for it, such as its hook for new objects.
  def table
    base = @runs.fetch("none")
    table = Table.new("", "CPU ms a request", "ratio in pairs", "quartiles", "of the medians", "of the best turns", "of the sums", "own",
                      "errors")
    @runs.each { |name, turns| table << row(name, turns, base) }
    table
  end

  def row(name, turns, base)
    pairs = Statistics.spread(Statistics.ratios(turns, base))
    [name, format("%.3f", Statistics.median(turns) * 1000 / @paths.size), factor(pairs.median),
     format("%.3f–%.3f", pairs.low, pairs.high), factor(Statistics.median(turns) / Statistics.median(base)),
     factor(turns.min / base.min), factor(turns.sum / base.sum),
     format("%.2f %%", @own[name] * 100 / turns.sum), @errors[name]]
  end

  def factor(number) = format("%.3f×", number)
  def load_average = File.read("/proc/loadavg")[/\S+/]
end

options = { rounds: 2, turns: 15, pages: 40, yjit: false }
parser = OptionParser.new("usage: application.rb CHECKOUT [options]") do |parse|
  parse.on("--rounds N", Integer, "how often all servers are started (2)") { |rounds| options[:rounds] = rounds }
  parse.on("--turns N", Integer, "how often each server serves all pages in a round (15)") { |turns| options[:turns] = turns }
  parse.on("--pages N", Integer, "how many pages (40)") { |pages| options[:pages] = pages }
  parse.on("--yjit", "with YJIT, else without") { options[:yjit] = true }
end
begin
  checkout, *rest = parser.parse(ARGV)
rescue OptionParser::ParseError => e
  abort "application.rb: #{e.message}"
end
abort parser.help unless checkout && rest.empty?
puts ApplicationBenchmark.new(File.expand_path(checkout), **options).run
