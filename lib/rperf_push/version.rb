# frozen_string_literal: true

module RperfPush
  VERSION = "0.1.0"
end
