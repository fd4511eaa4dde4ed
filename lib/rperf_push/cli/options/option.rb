# frozen_string_literal: true

module RperfPush
  module CLI
    # What stands on the command line, what it is called in the program, its default, and what `help` says.
    Option = Struct.new(:short, :long, :argument, :key, :default, :text, :choices, :takes, keyword_init: true) do
      def flags
        long_form = "--#{long}#{" #{argument}" if argument}"
        [*("-#{short}" if short), long_form]
      end
    end
  end
end
