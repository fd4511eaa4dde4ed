# frozen_string_literal: true

module RperfPush
  # How much of a file is read, and how much memory its content may take. gzip packs a thousand bytes into one, and two bytes of a
  # profile may become an object of 80: without a limit, a small file fills the memory.
  class Limit
    class Exceeded < ArgumentError; end

    BYTES = 256 * 1024 * 1024 # uncompressed
    PIECE = 1024 * 1024
    # Objects may take so many times the bytes that are read.
    OBJECTS = 6
    # Those of a small file take less: so many times these bytes, and so many times the size of the file.
    OBJECTS_OF_SMALL = 1.5
    PER_PACKED_BYTE = 1000
    LEAST = 16 * 1024 * 1024

    # @param max_bytes [Integer] uncompressed
    # @raise [ArgumentError]
    def initialize(max_bytes = BYTES)
      unless max_bytes.is_a?(Integer) && max_bytes.positive?
        raise ArgumentError, "max_bytes must be a number of bytes above 0, got #{max_bytes.inspect}"
      end

      @max_bytes = max_bytes
    end

    # In pieces: Ruby 4.0 clears as many bytes as a reader asks for.
    #
    # @param io [#read]
    # @return [String]
    # @raise [Exceeded]
    def read(io)
      bytes = +"".b
      while (piece = io.read(PIECE)) # GzipReader#read of Ruby 3.3 takes no buffer
        raise Exceeded, "has more than #{@max_bytes} bytes: #{advice}" if bytes.bytesize + piece.bytesize > @max_bytes

        bytes << piece
      end
      bytes
    end

    # @param packed [Integer] the size of the file
    # @yieldparam memory [Integer] bytes that the objects of the file may take
    # @yieldreturn [Object, nil] nil: they would take more
    # @return [Object]
    # @raise [Exceeded]
    def decode(packed)
      memory = ((OBJECTS_OF_SMALL * @max_bytes).to_i + (PER_PACKED_BYTE * packed)).clamp(LEAST, [LEAST, OBJECTS * @max_bytes].max)
      yield(memory) || raise(Exceeded, "would take more than #{memory >> 20} MiB of memory: #{advice}")
    end

    private

    def advice = "to read it all the same, raise --max-bytes (in Ruby max_bytes:) above #{@max_bytes}"
  end
end
