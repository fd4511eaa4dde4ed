# frozen_string_literal: true

require_relative "method_times"

# Prints what a source of profiles (ProfileFiles, ProfileServer) knows: where the time went, who waited, under which labels.
class Summary
  WIDTH = 92
  ROWS = 12
  GVL_STATES = { "blocked" => "off the GVL: sleep, I/O, bcrypt, zlib", "wait" => "wanting the GVL, which another thread had" }.freeze
  GC_PHASES = { "mark" => "GC: marking", "sweep" => "GC: sweeping" }.freeze

  def initialize(source, output: $stdout)
    @source = source
    @output = output
    @totals = %w[cpu wall].to_h { |type| [type, source.total(type)] }
    @times = @totals.keys.to_h { |type| [type, MethodTimes.new(source, type)] }
  end

  def print(own:)
    methods("cpu", "Methods by CPU time")
    methods("wall", "Methods by wall time, all threads (those that wait for work as well)")
    own_methods(own)
    waiting
    labels
  end

  private

  def methods(type, title)
    heading "#{title}: #{seconds(@totals[type])} in all"
    line "     self       %      total       %  method"
    @times[type].top_by_self(ROWS).each do |row|
      next if row.self_time.zero?

      line format("%<self>9s %<self_share>7s  %<total>9s %<total_share>7s  %<name>s",
                  self: seconds(row.self_time), self_share: share(row.self_time, @totals[type]),
                  total: seconds(row.total_time), total_share: share(row.total_time, @totals[type]), name: row.name)
    end
  end

  # Those with the most CPU time, and those that most make requests take long.
  def own_methods(pattern)
    heading "The application's own methods, with what they call"
    line "      cpu       %       wall  wall in requests  method"
    in_requests = MethodTimes.new(@source, "wall", "endpoint" => :any)
    rows = @times["cpu"].top_by_total(ROWS - 4, pattern) + in_requests.top_by_total(6, pattern)
    rows.map(&:name).uniq.sort_by { |name| -@times["cpu"].total_time(name) }.each do |name|
      cpu = @times["cpu"].total_time(name)
      line format("%<cpu>9s %<share>7s  %<wall>9s  %<within>16s  %<name>s",
                  cpu: seconds(cpu), share: share(cpu, @totals["cpu"]), wall: seconds(@times["wall"].total_time(name)),
                  within: seconds(in_requests.total_time(name)), name:)
    end
  end

  def waiting
    of_requests = @source.total("wall", "endpoint" => :any)
    heading "Waiting, as a share of wall time"
    line "                all threads    within requests"
    line format("  %-8s %16s %18s", "", seconds(@totals["wall"]), seconds(of_requests))
    states(%w[gvl_state %GVL], GVL_STATES, of_requests)
    states(%w[gc_phase %GC], GC_PHASES, of_requests)
  end

  # names: the label's, as backends have it, and as files for local tools may
  def states(names, meanings, of_requests)
    label = (names & @source.label_names).first || names.first
    meanings.each do |value, meaning|
      all = @source.total("wall", label => value)
      within = @source.total("wall", label => value, "endpoint" => :any)
      line format("  %-8s %16s %18s  %s", value, share(all, @totals["wall"]), share(within, of_requests), meaning)
    end
  end

  def labels
    heading "Labels seen"
    endpoints
    (@source.label_names - ["endpoint"]).each { |name| line "  #{name}: #{@source.label_values(name).first(8).join(", ")}" }
  end

  def endpoints
    rows = @source.label_values("endpoint").map do |endpoint|
      [endpoint, @source.total("cpu", "endpoint" => endpoint), @source.total("wall", "endpoint" => endpoint)]
    end
    line "      cpu       %       wall  endpoint"
    rows.sort_by { |_, cpu, _| -cpu }.each do |endpoint, cpu, wall|
      line format("%9s %7s  %9s  %s", seconds(cpu), share(cpu, @totals["cpu"]), seconds(wall), endpoint)
    end
  end

  def heading(text) = @output.puts("", @output.tty? ? "\e[1m#{text}\e[0m" : text)
  def line(text) = @output.puts(text.size > WIDTH ? "#{text[0, WIDTH - 1]}…" : text)
  def seconds(nanoseconds) = format("%.2f s", nanoseconds / 1e9)
  def share(part, whole) = whole.zero? ? "–" : format("%.1f %%", 100.0 * part / whole)
end
