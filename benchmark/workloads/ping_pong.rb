# frozen_string_literal: true

require_relative "../support/depth"

# Two threads that wake each other through queues: each turn switches threads twice.
class PingPong
  def initialize(depth: 60)
    @depth = depth
    @there = Queue.new
    @back = Queue.new
  end

  def run(count)
    other = Thread.new { Depth.at(@depth) { answer(count) } }
    Depth.at(@depth) { ask(count) }
    other.join
  end

  private

  def ask(count)
    count.times do |i|
      @there << i
      @back.pop
    end
  end

  def answer(count)
    count.times { |i| @back << i if @there.pop }
  end
end
