# frozen_string_literal: true

require_relative "../pprof_messages"

module FakeBackend
  # Merged stacks as a pprof of one sample type. Labels, comments and the true duration are gone, as on the server.
  class MergedProfile
    # @param stacks [Hash{Array<Frame> => Integer}] leaf first
    # @param type [String] the profile type's id
    # @param time_ms [Integer] when the query's time begins
    def initialize(stacks, type, time_ms)
      @strings = { "" => 0 }
      @functions = {}
      @locations = {}
      _, *names = type.split(":")
      sample_type, period_type = names.map { |name| string(name) }.each_slice(2).map { |name, unit| make("ValueType", type: name, unit:) }
      samples = stacks.map { |stack, value| make("Sample", location_id: stack.map { |frame| location(frame) }, value: [value]) }
      @fields = { sample_type: [sample_type], sample: samples, period_type:, time_nanos: time_ms * 1_000_000 }
    end

    # @return [PprofMessages::Profile]
    def message
      mapping = make("Mapping", id: 1, has_functions: true, has_filenames: true, has_line_numbers: true)
      PprofMessages::Profile.new(mapping: [mapping], location: @locations.values, function: @functions.values,
                                 string_table: @strings.keys, **@fields)
    end

    private

    def make(name, **fields) = PprofMessages::TEXT.fetch(name).new(**fields)

    def string(text) = @strings[text] ||= @strings.size

    def location(frame)
      function_id = function(frame).id
      (@locations[[function_id, frame.line]] ||=
         make("Location", id: @locations.size + 1, mapping_id: 1, line: [make("Line", function_id:, line: frame.line)])).id
    end

    def function(frame)
      @functions[[frame.name, frame.filename, frame.start_line, frame.system_name]] ||=
        make("Function", id: @functions.size + 1, name: string(frame.name), filename: string(frame.filename),
                         start_line: frame.start_line, system_name: string(frame.system_name))
    end
  end
end
