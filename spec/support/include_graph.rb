# frozen_string_literal: true

require "tsort"

# What includes what, of the C files below a folder of rooms. A header and its source are one unit.
class IncludeGraph
  include TSort

  Unit = Struct.new(:room, :name) do
    def to_s = "#{room}/#{name}"
    alias_method :inspect, :to_s
  end

  GENERATED = /\A(?:.*\.pb|extconf)\.h\z/

  attr_reader :root, :unknown

  # @param below [String, nil] what these paths begin with is outside of the graph, and no room is above it
  def initialize(root, below: nil)
    @root = root
    @below = below
    @unknown = []
    @includes = Hash.new { |all, unit| all[unit] = Set.new }
    sources.each { |path| read(path) }
  end

  def sources = Dir["#{root}/*/*.{c,h}"].grep_v(%r{/generated/})
  def rooms = sources.map { |path| unit_of(path).room }.uniq

  # @return [Array<Array(Unit, Unit)>]
  def arrows = @includes.flat_map { |from, all| all.map { |to| [from, to] } }

  # @return [Array<Array<Unit>>]
  def circles = each_strongly_connected_component.select { |units| units.size > 1 }

  private

  def tsort_each_node(&) = @includes.keys.each(&)
  def tsort_each_child(unit, &) = @includes[unit].to_a.each(&)

  def unit_of(path) = Unit.new(*path.delete_suffix(File.extname(path)).split("/").last(2))

  def read(path)
    unit = unit_of(path)
    @includes[unit]
    File.read(path).scan(/^\s*#\s*include\s*"([^"]+)"/) do |(included)|
      next if GENERATED.match?(included) || (@below && included.start_with?(@below))

      file = "#{root}/#{included}"
      next @unknown << "#{unit}: #{included}" unless File.file?(file)

      @includes[unit] << unit_of(file) unless unit_of(file) == unit
    end
  end
end
