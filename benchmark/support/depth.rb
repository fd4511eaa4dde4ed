# frozen_string_literal: true

# Calls a block with so many more frames below it.
module Depth
  module_function

  def at(levels, &block)
    levels.positive? ? at(levels - 1, &block) : yield
  end
end
