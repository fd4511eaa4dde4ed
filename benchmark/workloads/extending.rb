# frozen_string_literal: true

# Requests that give their objects methods of their own: each is new to a profiler, and used once.
class Extending
  Role = Module.new { def act = payload.sum(&:bytesize) }
  Cart = Struct.new(:payload)

  # @param count [Numeric] seconds
  def run(count)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    request until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
  end

  private

  def request
    carts = Array.new(4) { Cart.new([" " * 20_000]).extend(Role) }
    carts.each { |cart| cart.define_singleton_method(:total) { 200.times.sum { act } } }
    carts.sum(&:total)
  end
end
