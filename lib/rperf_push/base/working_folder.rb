# frozen_string_literal: true

module RperfPush
  # A deploy removes the folder of the release that still runs: there Dir.pwd raises, and the program goes on.
  module WorkingFolder
    # @return [String, nil] nil where it is gone
    def self.path
      Dir.pwd
    rescue SystemCallError
      nil
    end

    # @return [String] what the whole paths of its files begin with; "" where it is gone
    def self.prefix = path ? "#{path}/" : ""
  end
end
