# frozen_string_literal: true

require "opentelemetry-sdk"
require_relative "."
require_relative "integrations/activity"

module RperfPush
  # Labels samples with `span_id`, that of the local root span (the first one of this process in its trace), as Grafana's "traces to
  # profiles" looks for it. All there is to do, before or after OpenTelemetry::SDK.configure:
  #
  #   require "rperf_push/opentelemetry"
  #
  # The label is that of the fiber's *current* span, no matter what makes it current. A span that is only started, or that ends
  # elsewhere, labels nothing. A span that is not recorded has no label, because no trace leads to it.
  module SpanLabels
    LABEL = :span_id
    # On the root span, by which Grafana knows that there is a profile of it.
    ATTRIBUTE = "pyroscope.profile.id"

    # The id of a span's local root, the same String in all spans below it; of a fiber: what it is labelled with.
    module Root
      attr_accessor :rperf_push_root
    end

    # Finds the local root of each span.
    class Processor < ::OpenTelemetry::SDK::Trace::SpanProcessor
      def on_start(span, parent_context)
        span.rperf_push_root = SpanLabels.root_of(parent_context) || begin_root(span)
      end

      private

      def begin_root(span)
        id = span.context.hex_span_id.freeze
        span.set_attribute(ATTRIBUTE, id) if RperfPush.running?
        id
      end
    end

    # A provider has the processor from its beginning.
    module Provider
      def initialize(...)
        super
        add_span_processor(Processor.new)
      end
    end

    # Every way to change which span is the current one ends in these.
    module Context
      def attach(context)
        token = super
        SpanLabels.follow(context)
        token
      end

      def detach(token)
        matched = super
        SpanLabels.follow(current)
        matched
      end

      def clear
        super
        SpanLabels.follow(current)
      end
    end

    class << self
      # @return [String, nil] nil: there is no span that is recorded in this process
      def root_of(context)
        span = ::OpenTelemetry::Trace.current_span(context)
        span.rperf_push_root if span.is_a?(Root)
      end

      # The label changes where another local root comes or goes, not with each span.
      def follow(context)
        fiber = Fiber.current
        root = root_of(context)
        return if root.equal?(fiber.rperf_push_root)

        fiber.rperf_push_root = root
        Activity.label(LABEL => root)
      end

      def install
        [::OpenTelemetry::SDK::Trace::Span, Fiber].each { |owner| owner.include(Root) }
        ::OpenTelemetry::SDK::Trace::TracerProvider.prepend(Provider)
        ::OpenTelemetry::Context.singleton_class.prepend(Context)
        provider = ::OpenTelemetry.tracer_provider
        provider.add_span_processor(Processor.new) if provider.is_a?(::OpenTelemetry::SDK::Trace::TracerProvider)
      end
    end

    install
  end
end
