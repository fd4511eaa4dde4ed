# frozen_string_literal: true

require_relative "../fake_backend/remote"
require_relative "../fake_pyroscope"

class FakePyroscope
  # The fake server in a process of its own.
  class Remote < FakeBackend::Remote
    # @param options [Array<String>] of the command line
    def initialize(*options) = super(File.expand_path("../fake_pyroscope.rb", __dir__), *options)
  end
end
