# frozen_string_literal: true

require_relative "../values"

module RperfPush
  # The format of collapsed stacks: `root;...;leaf weight`, one line for each stack.
  module Collapsed
    LINE = /\A(.*\S) (-?\d+)\z/
    LOOKED_AT = 20 # lines that decide whether a file has this format

    module_function

    # @return [String] stacks that are equal but for labels and threads are one line, as the format has neither
    def encode(data) = Native.collapsed(Values.samples(data))

    # @return [Hash]
    def decode(text)
      frames = Hash.new { |known, label| known[label] = ["", label] }
      samples = utf8(text).each_line(chomp: true).with_index(1).filter_map do |line, number|
        sample(line, number, frames) unless line.empty?
      end
      { mode: :wall, frequency: 0, start_time_ns: 0, duration_ns: 0, trigger_count: 0, sampling_count: samples.size,
        sampling_time_ns: 0, detected_thread_count: 1, unique_frames: frames.size, unique_stacks: samples.size,
        aggregated_samples: samples, label_sets: [{}] }
    end

    # @return [Boolean]
    def like?(bytes)
      head = utf8(bytes.byteslice(0, 64 * 1024))
      return false if head.include?("\0")

      lines = head.lines(chomp: true).first(LOOKED_AT)
      lines.pop if lines.size > 1 && bytes.bytesize > 64 * 1024 && lines.size < LOOKED_AT
      lines.any? && lines.all? { |line| line.empty? || line.match?(LINE) }
    end

    def sample(line, number, frames)
      stack, weight = line.match(LINE)&.captures
      raise ArgumentError, "line #{number} is not a stack and its weight" unless stack

      [stack.split(";").reverse.map { |label| frames[label] }, weight.to_i, 1, 0]
    end

    def utf8(bytes) = bytes.dup.force_encoding(Encoding::UTF_8).scrub("?")
    private_class_method :sample, :utf8
  end
end
