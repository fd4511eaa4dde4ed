# frozen_string_literal: true

module FakeBackend
  # One profile that arrived, taken or not.
  #
  #   at        Time         labels   Array of [name, value], as sent
  #   headers   Hash         profile  PprofMessages::WireProfile, nil if it could not be decoded
  #   raw       String       bytes    Integer, uncompressed
  #   status    Integer      message  the refusal's, nil if it was taken
  #   violations Array<String>
  Received = Struct.new(:at, :headers, :labels, :raw, :profile, :bytes, :status, :message, :violations, keyword_init: true) do
    def accepted? = status == 200
    def time_nanos = profile&.time_nanos
    def duration_nanos = profile&.duration_nanos
  end
end
