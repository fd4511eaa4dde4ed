# frozen_string_literal: true

require_relative "lib/rperf_push/version"

Gem::Specification.new do |spec|
  spec.name = "rperf-push"
  spec.version = RperfPush::VERSION
  spec.summary = "A continuous profiler for Ruby that pushes to Pyroscope and Parca"
  spec.description = <<~TEXT
    Every process of an application samples its own CPU and wall time, sums the samples in C and pushes a pprof every
    ten seconds from a background thread: to Pyroscope, Parca, any HTTP endpoint or a directory. One initializer, and
    the application never waits for any of it.
  TEXT
  spec.authors = ["The rperf-push authors"]
  spec.license = "MIT"
  spec.homepage = "https://github.com/rperf-push/rperf-push"
  spec.required_ruby_version = ">= 3.3.1"

  # ext/rperf_push/core/generated and lib/rperf_push/web_ui/page are there only while `rake build` packs the gem. Without the former,
  # as from git or after `gem build`, extconf.rb generates it.
  spec.files = Dir.glob(
    [
      "lib/**/*.{rb,erb,html,css,js,tt}", "lib/**/USAGE",
      "ext/rperf_push/**/*.{rb,c,h}",
      "proto/*.{proto,options}", "bin/generate-proto",
      "config/**/*.rb", "sig/**/*.rbs", "docs/**/*.md", "exe/*",
      "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE"
    ], base: __dir__
  )
  spec.bindir = "exe"
  spec.executables = ["rperf-push"]
  spec.extensions = ["ext/rperf_push/extconf.rb"]
  spec.metadata = {
    "bug_tracker_uri" => "#{spec.homepage}/issues",
    "changelog_uri" => "#{spec.homepage}/blob/main/CHANGELOG.md",
    "documentation_uri" => "#{spec.homepage}/tree/main/docs",
    "source_code_uri" => "#{spec.homepage}/tree/main",
    "rubygems_mfa_required" => "true"
  }
end
