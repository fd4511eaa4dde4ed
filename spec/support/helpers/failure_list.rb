# frozen_string_literal: true

# Writes down which examples failed, for bin/test: whether each measures (metadata :measures), its id, its title. What
# measures may be disturbed by a busy machine; nothing else that fails gets a second chance.
class FailureList
  # @param path [String]
  def initialize(path)
    @path = path
  end

  # @param summary [RSpec::Core::Notifications::SummaryNotification]
  def dump_summary(summary)
    File.write(@path, summary.failed_examples.map { |example| "#{row(example).join("\t")}\n" }.join)
  end

  private

  MESSAGE = 600 # characters: a summary has no room for a whole document
  private_constant :MESSAGE

  def row(example) = [example.metadata[:measures] ? "measures" : "strict", example.id, "#{example.full_description}: #{message(example)}"]

  # In one line, for the summary.
  def message(example) = example.execution_result.exception.message.scrub("?").split.join(" ")[0, MESSAGE]
end
