# frozen_string_literal: true

require_relative "c_extension"

# How a child gets job_watch.c.
module JobWatchBuild
  module_function

  # @return [Hash{String => String}] the child's environment
  def environment = { "LD_PRELOAD" => CExtension.build("job_watch") }
end
