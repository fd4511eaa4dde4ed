# frozen_string_literal: true

require "rperf_push"
require "rperf_push/remote/live_audience"
require "rperf_push/remote/live_trace"

# What a process answers that has not heard yet that its last trace was given up, as when it keeps the GVL in a call of C.
RSpec.describe RperfPush::LiveTrace do
  # @param answers [Array<String, nil>] why each request in turn is refused; nil: it is not, and the page goes
  def client(answers, audience)
    Class.new do
      define_method(:connect) do |*, **, &block|
        why = answers.empty? ? "it has gone" : answers.shift
        raise RperfPush::ControlClient::Refused, why if why

        block.call(Struct.new(:audience) do
          def read(timeout:) = audience.gone && [:document, { "tracing" => true }] # rubocop:disable Lint/UnusedMethodArgument
        end.new(audience))
      end
    end.new
  end

  # Somebody looks, but for the moment after the page has gone.
  let(:audience) do
    Class.new do
      def initialize = @looks = true
      def gone = !(@looks = false)
      def any? = @looks.tap { @looks = true }
    end.new
  end

  before { stub_const("RperfPush::LiveTrace::REST", 0.01) }

  it "asks again while the trace that was given up lasts" do
    begun = 0
    process = client([nil, "calls are traced from outside already", nil], audience)
    stub_const("RperfPush::LiveTrace::MAX_WAIT", 5)
    expect { described_class.new(process, {}, audience).run { begun += 1 } }.to raise_error(RperfPush::ControlClient::Refused, "it has gone")
    expect(begun).to eq(2)
  end
end
