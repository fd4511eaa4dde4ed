# frozen_string_literal: true

# What class macros do: classes whose bodies define methods from blocks, with procs that outlive them.
class Closures
  Row = Struct.new(:id, :name) { def label = "#{name}#{id}" }

  # @param count [Numeric] seconds
  def run(count)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    define_and_use until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
  end

  private

  def define_and_use
    callbacks = []
    model = Class.new do
      %w[name title].each do |field|
        field =~ /(\w)/
        define_method(field) { |&block| block ? block.call(field) : field }
        callbacks << ->(object) { object.public_send(field) { |value| -> { value } } }
      end
    end
    100.times { callbacks.each { |callback| callback.call(model.new).call && Row.new(1, "a").label } }
  end
end
