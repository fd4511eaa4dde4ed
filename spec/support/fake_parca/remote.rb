# frozen_string_literal: true

require_relative "../fake_backend/remote"
require_relative "../fake_parca"

class FakeParca
  # The fake server in a process of its own.
  class Remote < FakeBackend::Remote
    # @param options [Array<String>] of the command line
    def initialize(*options) = super(File.expand_path("../fake_parca.rb", __dir__), *options)

    # @return [Array<String>] why it crashed, each time
    def crashes = state["crashes"]
  end
end
