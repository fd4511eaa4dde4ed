#!/usr/bin/env ruby
# frozen_string_literal: true

# mandelbrot.rb [WIDTH] [FILE] - draws the Mandelbrot set into a compressed picture, and says where the time went.

require "fileutils"
require "rperf_push"
require "zlib"

RperfPush.configure do |config|
  config.application_name = "mandelbrot"
  config.directory = "tmp/mandelbrot"
end

# The set as a greyscale picture.
class Mandelbrot
  STEPS = 120

  def initialize(width)
    @width = width
    @height = width * 2 / 3
  end

  def picture
    rows = Array.new(@height) { |y| row((2.0 * y / @height) - 1.0) }
    "P5 #{@width} #{@height} 255\n".b + rows.join
  end

  private

  def row(imaginary)
    Array.new(@width) { |x| shade((3.0 * x / @width) - 2.0, imaginary) }.pack("C*")
  end

  def shade(real, imaginary)
    a = b = 0.0
    step = 0
    while step < STEPS && (a * a) + (b * b) < 4.0
      a, b = (a * a) - (b * b) + real, (2.0 * a * b) + imaginary
      step += 1
    end
    255 - (step * 255 / STEPS)
  end
end

width = Integer(ARGV.fetch(0, 900))
path = ARGV.fetch(1, "tmp/mandelbrot.pgm.gz")

picture = RperfPush.label(phase: "draw") { Mandelbrot.new(width).picture }
bytes = RperfPush.label(phase: "compress") { Zlib.gzip(picture, level: Zlib::BEST_COMPRESSION) }
FileUtils.mkdir_p(File.dirname(path))
File.binwrite(path, bytes)

# What was sampled since then is written at the end of the process by itself.
puts "#{path}: #{bytes.bytesize} bytes. Profiles: tmp/mandelbrot/*.pb.gz"
