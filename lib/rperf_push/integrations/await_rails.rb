# frozen_string_literal: true

module RperfPush
  # Loads the railtie as soon as Rails is defined: at once, or later if the program loads the gem before Rails.
  #
  # Ruby notifies a module of each new constant. Once Rails is defined, the watch ends. A `case` of a Symbol calls no method, which would be
  # among the calls of a program that is traced.
  module AwaitRails
    # Waits for ::Rails.
    module Top
      def const_added(name)
        super
        case name
        when :Rails then AwaitRails.watch(::Rails) if !Object.autoload?(:Rails) && ::Rails.instance_of?(Module)
        end
      end
    end

    # Waits for Rails::Application; its ancestor Rails::Railtie is complete by then.
    module Inside
      def const_added(name)
        super
        case name
        when :Application then AwaitRails.arrived unless autoload?(:Application)
        end
      end
    end

    class << self
      def start
        return arrived if defined?(::Rails::Railtie)

        Object.singleton_class.prepend(Top)
        watch(::Rails) if defined?(::Rails) && ::Rails.instance_of?(Module)
      end

      def watch(rails)
        rails.singleton_class.prepend(Inside)
      end

      def arrived
        [Top, Inside].each { |listener| listener.send(:remove_method, :const_added) if listener.method_defined?(:const_added) }
        require_relative "railtie"
      end
    end
  end
end
