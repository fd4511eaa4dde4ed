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

    module_function

    # @param value [Symbol, nil] one of the data's values; nil means the weight
    # @return [String] stacks that are equal but for labels and threads are one line, as the format has neither
    # @raise [ArgumentError] if there is no such value
    def encode(data, value: nil)
      name = value || Values.names(data).first
      lines = Native.collapsed(Values.weighed(data, value))
      lines.empty? || Values.nanoseconds?(data, name) ? lines : "# #{name} #{Values.unit(data, name)}\n#{lines}"
    end

    # @return [Hash]
    def decode(text)
      frames = Hash.new { |known, label| known[label] = ["", label] }
      weight, lines = parts(text)
      samples = lines.each.with_index(1).filter_map { |line, number| sample(line, number, frames) unless line.empty? }
      { **kind(weight || (SAMPLES if samples.sum { |one| one[1].abs } < LEAST_TIME)), **counts(samples, frames),
        aggregated_samples: samples, label_sets: [{}] }
    end

    # @return [Array(Array(String, String), Array<String>)] what the weights are; nil: it does not say
    def parts(text)
      lines = utf8(text).lines(chomp: true)
      weight = lines.first.to_s.match(WEIGHT)&.captures
      lines[0] = "" if weight
      [weight, lines]
    end

    def counts(samples, frames)
      { frequency: 0, start_time_ns: 0, duration_ns: 0, trigger_count: 0, sampling_count: samples.size, sampling_time_ns: 0,
        detected_thread_count: 1, unique_frames: frames.size, unique_stacks: samples.size }
    end

    def kind((name, unit)) = name ? { mode: name.to_sym, units: { name.to_sym => unit } } : { mode: :wall }

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
    private_class_method :counts, :kind, :first_lines, :parts, :sample, :utf8
  end
end
