# frozen_string_literal: true

# What ordinary programs do with environments and definitions, again and again, at an ordinary rate: a tick at the wrong
# instruction is rare, so it takes minutes.
#
#   ruby -I lib spec/stress/soak.rb SECONDS
#
# Ends with one line of JSON: how often each was done, and the profiler's stats.

require "json"
require "rperf_push"
require "tmpdir"

# The lines that ended programs under every profiler that walks with the VM in a handler.
def handle(text)
  text =~ /x/
  1.times { -> { text } }
end

# Code as web applications have it.
module Concern
  def included(base)
    super
    base.extend(self::ClassMethods)
    base.class_eval(&@included_block) if @included_block
  end

  def when_included(&block) = @included_block = block
end

module Callbacks
  extend Concern

  module ClassMethods
    def callbacks = @callbacks ||= []
    def before(name = nil, **options, &block) = callbacks << [block || ->(record) { record.send(name) }, options]
    def scopes = @scopes ||= {}
    def scope(name, body) = define_singleton_method(name) { |*arguments| instance_exec(*arguments, &body) }
  end

  when_included { before { |record| record.touched = true } }

  attr_accessor :touched

  def save
    self.class.callbacks.each { |body, options| body.call(self) if options.fetch(:if, ->(_) { true }).call(self) }
    yield self if block_given?
  end
end

Address = Data.define(:street, :town) { def label = [street, town].map { |part| part.to_s.capitalize }.join(", ") }
Line = Struct.new(:name, :price) do
  def total(&discount) = discount ? discount.call(price) : price
  %i[net gross].each_with_index { |kind, i| define_method(kind) { price * (1 + i) } }
end

class Record
  include Callbacks

  before :normalize, if: ->(record) { record.name =~ /a/ }
  scope :named, ->(pattern) { lambda { |all| all.select { |record| record.name =~ pattern && $~ } } }
  attr_reader :name, :address

  def initialize(name) = (@name, @address = name, Address.new(street: name, town: "t"))
  def normalize = @name = name.gsub(/a/) { |letter| letter.upcase }
end

ACTS = {
  handle: -> { 100.times { handle("x") } },
  class_body: lambda do
    secret = "s"
    secret =~ /s/
    made = Class.new do
      own = secret
      %w[a b c].each { |name| define_method(name) { |x = 1| [own, name, x].map { |part| -> { part } } } }
    end.new
    [made.a, made.b(2), made.c]
  end,
  records: lambda do
    records = Array.new(5) { |i| Record.new("name a#{i}") }
    records.each { |record| record.save { |saved| saved.address.label } }
    Record.named(/A\d/).call(records).size
  end,
  structs: -> { [Line.new("n", 2), Line.new("m", 3)].sum { |line| line.total { |price| price / 2 } + line.net + line.gross } },
  data: -> { Address.new(street: "a", town: "b").with(town: "c").then { |address| [address, address.to_h, address.label, address.hash] } },
  new_structs: -> { Struct.new(:a) { define_method(:b) { -> { a } } }.new(1).b.call },
  fibers: -> { Fiber.new { |x| x =~ /x/; 1.times { -> { x } }; Fiber.yield(proc { x }) }.resume("x").call },
  threads: -> { word = "w"; word =~ /w/; Thread.new { 1.times { -> { word } } }.join }
}.freeze

seconds = Float(ARGV.fetch(0))
Dir.mktmpdir do |folder|
  RperfPush.configure! do |config|
    config.application_name = "soak"
    config.directory = folder
    config.directory_max_files = 10
  end
  stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  counts = Hash.new(0)
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
    ACTS.each { |name, act| 20.times { act.call }; counts[name] += 20 }
  end
  stats = RperfPush.stats
  RperfPush.shutdown
  puts JSON.generate("counts" => counts, "stats" => stats)
end
