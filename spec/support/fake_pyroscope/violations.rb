# frozen_string_literal: true

require_relative "../fake_backend/profile_violations"

class FakePyroscope
  # What Pyroscope takes without a word, and other tools, an older server or our own promises do not.
  module Violations
    BYTES = (1.9 * 1024 * 1024).to_i
    SAMPLES = 15_000

    # @return [Array<String>] in plain words, none for a good push
    def self.of(profile, labels:, bytes:, headers:)
      FakeBackend::ProfileViolations.of(profile) + FakeBackend::ProfileViolations.of_names(labels) + [
        ("Content-Encoding on the request" if headers.key?("content-encoding")),
        ("#{bytes} bytes in one profile" if bytes > BYTES),
        ("#{profile.sample.size} samples in one profile" if profile.sample.size > SAMPLES),
        ("__delta__ is not false" unless labels.include?(%w[__delta__ false]))
      ].compact
    end
  end
end
