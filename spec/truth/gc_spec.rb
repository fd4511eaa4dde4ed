# frozen_string_literal: true

require_relative "../support/profiled_program"

# Marking and sweeping as the VM itself accounts for them, and only once.
RSpec.describe "Garbage collection", :measures, :interpreted do
  program_text = <<~RUBY
    KEPT = Array.new(150_000) { |i| "kept " + i.to_s }

    def garbage = 20_000.times { |i| "text " + i.to_s }
    def minor_and_lazy = garbage
    def immediate_major = GC.start(full_mark: true, immediate_sweep: true)
    def lazy_major = (GC.start(full_mark: true, immediate_sweep: false); garbage)
    def immediate_minor = (garbage; GC.start(full_mark: false, immediate_sweep: true))

    def go(name, seconds)
      gc = GC.stat
      RperfPush.label(part: name) do
        Truth.spend(name + " all") do
          stop = Truth.thread_cpu + seconds * 1_000_000_000
          yield while Truth.thread_cpu < stop
        end
      end
      %i[marking_time sweeping_time].each { |key| Truth[name + " " + key.to_s] = (GC.stat(key) - gc[key]) * 1_000_000 }
    end

    GC.measure_total_time = true
    Truth.profile do
      go("minor, lazy", 1.5) { minor_and_lazy }
      go("major, immediate", 1.0) { immediate_major }
      go("major, lazy", 1.0) { lazy_major }
      go("minor, immediate", 1.0) { immediate_minor }
    end
  RUBY

  parts = ["minor, lazy", "major, immediate", "major, lazy", "minor, immediate"]

  with_each_engine(program_text) do
    parts.each do |part|
      it "splits marking and sweeping: #{part}" do
        { marking: "marking_time", sweeping: "sweeping_time" }.each do |state, key|
          vm = truth["#{part} #{key}"]
          found = program.cpu { |sample| sample.labels["part"] == part && sample.state == state }
          # The VM tells milliseconds, before and after. Pauses shorter than a period have a mark in each, and a pool has a rest.
          expect(found).to be_within((vm * 0.1) + 2_000_000 + (4 * 1e9 / 99)).of(vm), "#{state}: #{found} of #{vm}"
        end
      end

      it "does not count it again as running: #{part}" do
        all = truth["#{part} all"]
        others = truth.values_at(*parts.map { |name| "#{name} all" }).sum
        seen = program.cpu { |sample| sample.labels["part"] == part }
        expect(seen).to be_within((all * 0.02) + sampling_error(all, all: others)).of(all)
      end
    end

    it "blames the stack that triggered it" do
      major = program.samples.select { |sample| sample.labels["part"] == "major, immediate" && sample.state == :marking }
      expect(major.select { |sample| sample.in?("Object#immediate_major") }.sum(&:cpu)).to be > major.sum(&:cpu) * 0.9
    end
  end
end
