# frozen_string_literal: true

require_relative "../values"

module RperfPush
  # The format of collapsed stacks: `root;...;leaf weight`, one line for each stack.
  #
  # It has no place for what the weights are. Where they are not nanoseconds, the first line says so: `# alloc_objects count`; tools
  # that draw flame graphs leave it out. Files of others do not say. Theirs are samples, if all of them come to less than a millisecond.
  module Collapsed
    LINE = /\A(.*\S) (-?\d+)\z/
    WEIGHT = /\A# (\w+) ([a-z]\w*)\z/
    SAMPLES = %w[samples count].freeze
    LEAST_TIME = 1_000_000 # nanoseconds
    LOOKED_AT = 20 # lines that decide whether a file has this format
    HEAD_BYTES = 64 * 1024 # in which they are
    MEMORY_OF_LINE = 400 # bytes: a sample, and what is read on the way to it
    MEMORY_OF_FRAME = 64

    module_function

    # @param value [Symbol, nil] one of the data's values; nil means the weight
    # @return [String] stacks that are equal but for labels and threads are one line, as the format has neither
    # @raise [ArgumentError] if there is no such value
    def encode(data, value: nil)
      return "" if Values.nothing?(data)

      name = value || Values.names(data).first
      lines = Native.collapsed(Values.weighed(data, value))
      lines.empty? || Values.nanoseconds?(data, name) ? lines : "# #{name} #{Values.unit(data, name)}\n#{lines}"
    end

    # @param memory [Integer, nil] bytes that the result may take; nil: any number
    # @return [Hash, nil] nil: it would take more memory
    def decode(text, memory: nil)
      return if memory && memory_for(text) > memory

      frames = Hash.new { |known, label| known[label] = ["", label] }
      weight, lines, first = parts(utf8(text))
      samples = lines.each_line(chomp: true).with_index(first).filter_map { |line, number| sample(line, number, frames) unless line.empty? }
      { **kind(weight, samples), **counts(samples, frames), aggregated_samples: samples, label_sets: [{}] }
    end

    # @return [Array(Array(String, String), String, Integer)] what the weights are (nil: it does not say), the lines of stacks, and the
    #   number of the first one
    def parts(text)
      first, others = text.split("\n", 2)
      weight = first.to_s.chomp.match(WEIGHT)&.captures
      weight ? [weight, others.to_s, 2] : [nil, text, 1]
    end

    def memory_for(text) = (text.count("\n") * MEMORY_OF_LINE) + (text.count(";") * MEMORY_OF_FRAME) + text.bytesize

    def counts(samples, frames)
      { frequency: 0, start_time_ns: 0, duration_ns: 0, trigger_count: 0, sampling_count: samples.size, sampling_time_ns: 0,
        detected_thread_count: 1, unique_frames: frames.size, unique_stacks: samples.size }
    end

    def kind(weight, samples)
      name, unit = weight || (SAMPLES if samples.sum { |one| one[1].abs } < LEAST_TIME)
      name ? { mode: name.to_sym, units: { name.to_sym => unit } } : { mode: :wall }
    end

    # @return [Boolean]
    def like?(bytes)
      lines = first_lines(bytes)
      lines = lines.drop(1) if lines.first&.match?(WEIGHT)
      lines.any? && lines.all? { |line| line.empty? || line.match?(LINE) }
    end

    # @return [Array<String>] whole ones; none of what is no text
    def first_lines(bytes)
      head = utf8(bytes.byteslice(0, HEAD_BYTES))
      return [] if head.include?("\0")

      lines = head.lines(chomp: true).first(LOOKED_AT)
      lines.pop if lines.size > 1 && bytes.bytesize > HEAD_BYTES && lines.size < LOOKED_AT
      lines
    end

    def sample(line, number, frames)
      stack, weight = line.match(LINE)&.captures
      raise ArgumentError, "line #{number} is not a stack and its weight" unless stack

      [stack.split(";").reverse.map { |label| frames[label] }, weight.to_i, 1, 0]
    end

    def utf8(bytes) = bytes.dup.force_encoding(Encoding::UTF_8).scrub("?")
    private_class_method :parts, :memory_for, :counts, :kind, :first_lines, :sample, :utf8
  end
end
