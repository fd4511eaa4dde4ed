# frozen_string_literal: true

require_relative "printable"

module RperfPush
  # What the library itself writes to standard error, inside an application. Where an encoding was chosen for it (`ruby -E`, Rails in some
  # containers), text that this encoding lacks would raise in the application.
  module Notice
    module_function

    # @param text [String]
    def write(text)
      text = Printable.text(text)
      encoding = $stderr.external_encoding if $stderr.respond_to?(:external_encoding)
      $stderr.puts(encoding ? text.encode(encoding, undef: :replace) : text)
    end
  end
end
