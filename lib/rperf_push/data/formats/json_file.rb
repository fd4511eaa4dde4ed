# frozen_string_literal: true

require "json"
require "strscan"
require_relative "../../calls/call_tree"
require_relative "../meta"
require_relative "../values"
require_relative "facts"

module RperfPush
  # The native format: the data Hash, with each frame written once. Files of rperf, which writes frames out in every stack, are
  # read as well.
  module JSONFile
    DEEPEST = 32 # objects and arrays within each other
    HEAD = %i[meta summary].freeze
    HEAD_BYTES = 256 * 1024 # the longest that both may be

    module_function

    # Begins with `meta` and `summary`, so that a reader may stop there.
    #
    # @return [String]
    def encode(data)
      lists = { aggregated_samples: Values.samples(data), raw_samples: data[:raw_samples] }.compact
      frames, texts = Native.samples_json(lists.values)
      head = JSON.generate({ meta: Meta.of(data), summary: Meta.summary_of(data), **data.except(*HEAD, *lists.keys), frames: })
      "#{head.chop}#{lists.keys.zip(texts).map { |key, text| ",\"#{key}\":#{text}" }.join}}"
    end

    # @param memory [Integer, nil] bytes that the result may take; nil: any number
    # @return [Hash, nil] nil: it would take more memory
    # @raise [ArgumentError]
    def decode(text, memory: nil)
      parsed = parse(text, memory) or return
      unless parsed[:aggregated_samples].is_a?(Array) || parsed[:raw_samples].is_a?(Array)
        raise ArgumentError, "no profile: it has no aggregated_samples"
      end

      frames = frames_of(parsed.delete(:frames))
      data = typed(parsed)
      %i[aggregated_samples raw_samples].each { |key| restore(data[key], frames, data[:label_sets].size) if data[key] }
      Facts.check(data)
      data[:aggregated_samples] ||= data[:raw_samples]
      data
    end

    # @param text [String] the file, or its first {HEAD_BYTES}
    # @return [Hash, nil] :meta and :summary, nil what is not there; nil when the file does not begin with them
    def head(text)
      scanner = StringScanner.new(text.byteslice(0, HEAD_BYTES).force_encoding(Encoding::UTF_8).scrub("?"))
      scanner.skip(/\s*\{\s*/)
      found = {}
      while (key = scanner.skip(/"(meta|summary)"\s*:\s*/) && scanner[1]) && (object = object_at(scanner))
        found[key.to_sym] = JSON.parse(object, symbolize_names: true, max_nesting: DEEPEST)
        scanner.skip(/\s*,\s*/)
      end
      { meta: nil, summary: nil, **found } if found.any?
    rescue JSON::ParserError
      nil
    end

    # @return [String, nil] from brace to brace
    def object_at(scanner)
      from = scanner.pos
      depth = 0
      while (token = scanner.scan(/[^"{}]+|"(?:[^"\\]|\\.)*"|[{}]/m))
        depth += { "{" => 1, "}" => -1 }.fetch(token, 0)
        return scanner.string.byteslice(from...scanner.pos) if depth <= 0
      end
    end

    def parse(text, memory)
      return if memory && Native.json_memory(text) > memory

      text = text.dup.force_encoding(Encoding::UTF_8)
      raise ArgumentError, "not valid JSON: not in UTF-8" unless text.valid_encoding?

      JSON.parse(text, max_nesting: DEEPEST, symbolize_names: true)
    rescue JSON::ParserError => e
      raise ArgumentError, "not valid JSON: #{e.message.lines.first.to_s.chomp[0, 120]}"
    end

    # Puts frames where their places stand, and gives equal frames one object.
    def restore(samples, frames, sets)
      raise ArgumentError, "samples must be a list" unless samples.is_a?(Array)

      samples.each_with_index do |sample, index|
        wrong = Facts.wrong_with(sample, sets)
        raise ArgumentError, "sample #{index} #{wrong}" if wrong

        sample[0].map! { |frame| frames[frame] || raise(ArgumentError, "sample #{index} has no frame #{frame.inspect[0, 40]}") }
      end
    end

    # What to look a stack's elements up in: places in the list, or frames that are written out.
    def frames_of(list)
      return Hash.new { |known, frame| known[frame] = checked(frame) } if list.nil?
      raise ArgumentError, "frames must be a list" unless list.is_a?(Array)

      list.each_with_index.to_h { |frame, index| [index, checked(frame)] }
    end

    def checked(frame)
      path, label, line = frame if frame.is_a?(Array)
      return frame if path.is_a?(String) && label.is_a?(String) && (line.nil? || line.is_a?(Integer))

      raise ArgumentError, "a frame must be [path, label] or [path, label, line], got #{frame.inspect[0, 80]}"
    end

    def typed(data)
      data[:mode] = mode_of(data[:mode])
      sets = data[:label_sets] ||= [{}]
      raise ArgumentError, "label_sets must be a list of objects" unless sets.is_a?(Array) && sets.all?(Hash)

      data[:tree] = tree_of(data[:tree]) if data[:tree]
      data
    end

    # Whatever is missing in it, or of another kind.
    def tree_of(tree)
      raise ArgumentError, "tree must be an object" unless tree.is_a?(Hash)

      CallTree.from_h(tree)
    rescue NoMethodError, IndexError, TypeError, RangeError
      raise ArgumentError, "the tree is not whole"
    end

    def mode_of(mode)
      return if mode.nil?
      raise ArgumentError, "mode must be a text" unless [*mode].all?(String)

      mode.is_a?(Array) ? mode.map(&:to_sym) : mode.to_sym
    end
    private_class_method :object_at, :parse, :restore, :frames_of, :checked, :typed, :tree_of, :mode_of
  end
end
