# frozen_string_literal: true

require_relative "../backend_double/remote"
require_relative "../pyroscope_double"

class PyroscopeDouble
  # The double in a process of its own.
  class Remote < BackendDouble::Remote
    # @param options [Array<String>] of the command line
    def initialize(*options) = super(File.expand_path("../pyroscope_double.rb", __dir__), *options)
  end
end
