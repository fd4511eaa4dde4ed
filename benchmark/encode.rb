# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require_relative "support/benchmark"

# encode.rb - encoding and compressing one large window: builds encode.c with the core, runs it.
class Encode < Benchmark
  TITLE = "Encoding a large window"

  ROOT = File.expand_path("..", __dir__)
  BUILD = File.join(ROOT, "tmp/benchmark/core")

  private

  def sections
    build
    arguments = quick? ? %w[500 40 500] : []
    output, status = Open3.capture2e(File.join(BUILD, "encode"), *arguments)
    raise output unless status.success?

    ["This runs off the GVL, in the collector's thread. Target: at most 220 ms of CPU with gzip, at most 8 MiB of additional memory.",
     "```\n#{output.chomp}\n```"].join("\n\n")
  end

  def build
    @progress.at("building the core")
    run("cmake", "-S", __dir__, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", BUILD, "--target", "encode", "-j", Etc.nprocessors.to_s)
  end

  def run(*command)
    output, status = Open3.capture2e(*command)
    raise "#{command.join(" ")}:\n#{output}" unless status.success?
  end
end

Encode.main(__FILE__)
