# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/report"

# run.rb - all benchmarks, one after the other: run.rb [--quick] [--publish] [--only NAME,NAME] and the options of each.
#
# Writes results/report.md and the plots beside it. With --publish the same goes into README.md of this folder and plots/.
ORDER = %w[overhead idle capture instructions deferrals rotation encode minor_gc budget scaling memory shop accuracy shares safety].freeze

publish = !ARGV.delete("--publish").nil?
only = (at = ARGV.index("--only")) ? ARGV.slice!(at, 2).last.to_s.split(",") : ORDER
unknown = only - ORDER
abort "benchmark: no benchmark #{unknown.join(", ")}; there are #{ORDER.join(", ")}" if unknown.any?

settings = Benchmark.settings_from(ARGV)
results = File.join(__dir__, "results")
report = Report.new(results, plots: publish ? File.join(__dir__, "plots") : results)
progress = Progress.new
path = nil

(ORDER & only).each do |name|
  require_relative name
  section = Object.const_get(name.split("_").map(&:capitalize).join).new(settings, progress:, report:).report
  path = report.add(section)
rescue StandardError => e
  path = report.add("## #{name}\n\nNot measured: #{e.message.lines.first}")
  warn e.full_message
end

report.publish(File.join(__dir__, "README.md")) if publish
puts File.read(path)
progress.heading("written to #{path.delete_prefix("#{Dir.pwd}/")}")
