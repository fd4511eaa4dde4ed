# frozen_string_literal: true

module RperfPush
  module CLI
    # The fields of a protobuf message, as far as a pprof needs them: numbers, and what has a length.
    module Wire
      class Broken < StandardError; end

      NUMBER = 0
      SIZED = 2

      module_function

      # @param message [String]
      # @yieldparam field [Integer] the field's number
      # @yieldparam value [Integer, String]
      # @yieldparam from [Integer] where the field begins in the message
      # @yieldparam to [Integer] where it ends
      # @raise [Broken]
      def each_field(message)
        at = 0
        while at < message.bytesize
          from = at
          tag, at = varint(message, at)
          case tag & 7
          when NUMBER then value, at = varint(message, at)
          when SIZED then value, at = sized(message, at)
          else raise Broken
          end
          yield tag >> 3, value, from, at
        end
      end

      # @param value [Integer, String] of a field that is a list of numbers: one of them, or several together
      # @return [Array<Integer>] unsigned
      def numbers(value)
        return [value] if value.is_a?(Integer)

        all = []
        at = 0
        while at < value.bytesize
          number, at = varint(value, at)
          all << number
        end
        all
      end

      # @param value [Integer, String]
      # @return [String] the field
      def field(number, value)
        return "#{encoded((number << 3) | NUMBER)}#{encoded(value)}" if value.is_a?(Integer)

        "#{encoded((number << 3) | SIZED)}#{encoded(value.bytesize)}#{value}"
      end

      # @return [String] a field that is a list of numbers
      def list(number, values) = field(number, values.map { |value| encoded(value) }.join)

      def encoded(number)
        bytes = []
        while number > 0x7f
          bytes << ((number & 0x7f) | 0x80)
          number >>= 7
        end
        (bytes << number).pack("C*")
      end

      # @return [Array(Integer, Integer)] the number, and the offset after it
      def varint(message, at)
        value = shift = 0
        loop do
          byte = message.getbyte(at)
          raise Broken if byte.nil? || (shift == 63 && byte > 1) # more than 64 bits

          value |= (byte & 0x7f) << shift
          at += 1
          return [value, at] if byte < 0x80

          shift += 7
        end
      end

      def sized(message, at)
        length, at = varint(message, at)
        raise Broken if length > message.bytesize - at

        [message.byteslice(at, length), at + length]
      end
      private_class_method :encoded, :varint, :sized
    end
  end
end
