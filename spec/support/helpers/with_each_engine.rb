# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# One run of a profiled program with each engine, for all of the block's examples: `program`, and its `truth`.
module WithEachEngine
  # @param source [String] of the program
  # @param options [Hash] of ProfiledProgram.run
  def with_each_engine(source, **options, &examples)
    %w[signal safepoint].each do |engine|
      context "with engine #{engine}" do
        before(:context) do
          @folder = Dir.mktmpdir
          @program = ProfiledProgram.run(source, folder: @folder, engine:, **options)
        end
        after(:context) { FileUtils.rm_rf(@folder) }

        let(:program) { @program }
        let(:truth) { program.truth }

        class_exec(&examples)

        it "ends without a word and without a loss", measures: false do
          expect(program.status).to be_success
          expect(program.log).to eq("")
          expect(truth["stats"]).to include("time_lost_ns" => 0, "samples_overflowed" => 0)
        end
      end
    end
  end
end
