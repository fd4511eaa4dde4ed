# frozen_string_literal: true

require_relative "../backend_double/remote"
require_relative "../parca_double"

class ParcaDouble
  # The double in a process of its own.
  class Remote < BackendDouble::Remote
    # @param options [Array<String>] of the command line
    def initialize(*options) = super(File.expand_path("../parca_double.rb", __dir__), *options)

    # @return [Array<String>] why it crashed, each time
    def crashes = state["crashes"]
  end
end
