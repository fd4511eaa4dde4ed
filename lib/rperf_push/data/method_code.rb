# frozen_string_literal: true

module RperfPush
  # The source of a method, from its definition to its end, beside the lines that were sampled.
  class MethodCode
    AROUND = 2 # lines shown before the first and after the last sampled line, where no definition is found
    Row = Struct.new(:number, :text, :line)

    # @param lines [Array<Graph::Line>] the sampled lines, in order
    def initialize(path, label, lines)
      @path = path
      @label = label
      @lines = lines
    end

    # @return [Integer, nil] of the definition; where it is not found, the first sampled line
    def first_line
      definition&.first || @lines.first&.number
    rescue SystemCallError
      @lines.first&.number
    end

    # @return [Array<Row>] `line` is nil for a line without samples, `text` where there is no source
    def rows
      return [] if @lines.empty?

      sampled = @lines.to_h { |line| [line.number, line] }
      numbers = source.empty? ? sampled.keys : definition || around
      numbers.map { |number| Row.new(number, source[number - 1], sampled[number]) }
    rescue SystemCallError
      []
    end

    private

    # @return [Array<String>] its lines; empty if the file is missing or is not the one that ran
    def source
      @source ||= begin
        source = File.file?(@path) ? File.binread(@path).force_encoding(Encoding::UTF_8).lines(chomp: true) : []
        source.size < @lines.last.number ? [] : source
      end
    end

    def around = [@lines.first.number - AROUND, 1].max..[@lines.last.number + AROUND, source.size].min

    def definition = defined?(@definition) ? @definition : @definition = find_definition

    # @return [Range, nil] nil: the file has no such method where the samples are
    def find_definition
      return if @lines.empty? || source.empty?

      require "prism"
      nodes = nodes(Prism.parse(source.join("\n")).value).select { |node| named?(node) && covers?(node.location) }
      nodes.map(&:location).min_by(&:length)&.then { |place| place.start_line..place.end_line }
    rescue LoadError
      nil
    end

    def nodes(root)
      waiting = [root]
      all = []
      while (node = waiting.pop)
        all << node
        waiting.concat(node.compact_child_nodes)
      end
      all
    end

    def named?(node)
      case node
      when Prism::DefNode then @label.end_with?("##{node.name}", ".#{node.name}")
      when Prism::BlockNode, Prism::LambdaNode then @label.start_with?("block ")
      end
    end

    def covers?(location) = location.start_line <= @lines.first.number && location.end_line >= @lines.last.number
  end
end
