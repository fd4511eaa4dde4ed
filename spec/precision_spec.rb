# frozen_string_literal: true

require "rperf_push"

# Each row of the data has the number of its samples, and the sums of their squared weights: the standard error is the root of such a sum.
RSpec.describe "the precision of a row", :interpreted do
  include CommandLine
  include TemporaryFolder

  path = "app.rb"
  burn = <<~RUBY
    def burn(seconds)
      from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - from < seconds
    end
  RUBY

  def part(values, weight: 4, **more)
    { mode: :cpu, frequency: 250, start_time_ns: 1, duration_ns: 2, aggregated_samples: [[[["app.rb", "A#work"]], weight, 1, 0]],
      label_sets: [{}], values:, **more }
  end

  def merged(*parts) = parts.reduce(RperfPush::Merge.new) { |merge, data| merge.add(data) }.data

  define_method(:record) do |code, **options|
    stdout, stderr, status = run_ruby(<<~RUBY)
      require "json"
      #{burn}
      puts JSON.generate(RperfPush.start(**#{options.inspect}) { #{code} })
    RUBY
    expect(status).to be_success, stderr
    JSON.parse(stdout, symbolize_names: true)
  end

  # [samples, squares of the weight, weight] of the rows below a method
  def rows_of(data, method)
    data[:aggregated_samples].each_with_index.filter_map do |(frames, weight), at|
      [data[:values][:samples][at], data[:values][:weight_squares][at], weight] if frames.any? { |frame| frame[1] == method }
    end
  end

  it "is the squared weight where each sample is a row of its own" do
    data = record("burn(0.3)", mode: :cpu, aggregate: false)
    weights = data[:raw_samples].map { |sample| sample[1] }
    sampled = weights.zip(*data[:raw_values].values_at(:samples, :weight_squares)).select { |weight, samples, _| samples == 1 && weight > 1_000_000 }
    expect(sampled.size).to be >= 20
    expect(sampled.map { |weight, _, squares| squares.to_f / (weight**2) }).to all(be_within(1e-6).of(1).or(eq(0))) # 0: a pause of the GC
    expect(data[:values][:weight_squares].sum).to be_within(1).percent_of(data[:raw_values][:weight_squares].sum)
    expect(data[:values][:samples].sum).to eq(data[:raw_values][:samples].sum)
  end

  it "is that of the weight, and each other value that is sampled has its own" do
    expect(record("burn(0.1)", mode: :cpu)[:values].keys).to eq(%i[samples weight_squares])
    both = record("burn(0.2)", mode: %i[cpu wall alloc])
    expect(both[:values].keys).to eq(%i[wall alloc_objects alloc_space samples weight_squares wall_squares alloc_objects_squares alloc_space_squares])
    expect(RperfPush::Values.names(both)).to eq(%i[cpu wall alloc_objects alloc_space])
  end

  it "knows waits of a period or longer exactly" do
    data = record("burn(0.1); sleep 0.3", mode: :wall, frequency: 100)
    slept, squares, weight = rows_of(data, "Kernel#sleep").max_by(&:last)
    expect([slept, squares]).to eq([1, 0])
    expect(weight).to be >= 290_000_000
    expect(rows_of(data, "Object#burn").sum { |_, one| one }).to be_positive
  end

  describe "in files" do
    let(:counted) { part({ samples: [1], weight_squares: [16] }) }

    it "is in JSON, and not in pprof" do
      read = %w[p.json p.json.gz p.pb.gz].to_h do |name|
        RperfPush.save("#{tmpdir}/#{name}", counted)
        [name, RperfPush.load("#{tmpdir}/#{name}")[:values]]
      end
      expect(read).to eq({ "p.json" => counted[:values], "p.json.gz" => counted[:values], "p.pb.gz" => nil })
    end

    it "may be more than 64 bits have room for, but not anything" do
      RperfPush.save("#{tmpdir}/p.json", part({ samples: [1], weight_squares: [10**30] }))
      expect(RperfPush.load("#{tmpdir}/p.json")[:values][:weight_squares]).to eq([10**30])
      [10**60, -1, 1.5, nil].each do |squares|
        File.write("#{tmpdir}/p.json", JSON.generate(part({ samples: [1], weight_squares: [squares] })))
        expect { RperfPush.load("#{tmpdir}/p.json") }.to raise_error(RperfPush::FormatError, /values must be/)
      end
    end

    it "is no measure: no report of it, no column of pprof" do
      expect(RperfPush::Values.names(counted)).to eq([:cpu])
      expect { RperfPush::Values.column(counted, :weight_squares) }.to raise_error(ArgumentError, /there are cpu/)
    end
  end

  describe "of merged files" do
    it "is the sum, however large" do
      sum = merged(part({ samples: [2], weight_squares: [9 * (10**18)] }), part({ samples: [3], weight_squares: [9 * (10**18)] }))
      expect(sum[:values]).to eq({ samples: [2, 3], weight_squares: [9 * (10**18)] * 2 }) # threads of two processes
      same = part({ samples: [2], weight_squares: [9 * (10**18)] }).merge(aggregated_samples: [[[[path, "A#work"]], 4, 0, 0]])
      expect(merged(same, same)[:values]).to eq({ samples: [4], weight_squares: [18 * (10**18)] })
    end

    it "is not known if one of them does not say, unless it has no samples" do
      counted = part({ samples: [2], weight_squares: [16] })
      expect(merged(counted, part({}))).not_to include(:values)
      empty = part({}, aggregated_samples: [])
      expect(merged(counted, empty)[:values]).to eq({ samples: [2], weight_squares: [16] })
    end

    it "is that of each value by itself" do
      both = part({ wall: [9], samples: [2], weight_squares: [16], wall_squares: [81] }, mode: %i[cpu wall])
      expect(merged(both, part({ samples: [1], weight_squares: [4] }))[:values])
        .to eq({ wall: [9, 0], samples: [2, 1], weight_squares: [16, 4], wall_squares: [81, 0] })
      expect(merged(both, part({ wall: [5], samples: [1], weight_squares: [4] }, mode: %i[cpu wall]))[:values].keys)
        .to eq(%i[wall samples weight_squares])
    end

    it "leaves a value of the program that is called samples alone" do
      own = part({ samples: [7], weight_squares: [4] }, units: { samples: "count" })
      expect(merged(own, part({ samples: [1], weight_squares: [9] }))[:values]).to eq({ samples: [7, 0], weight_squares: [4, 9] })
    end
  end

  it "is that of the new weight, when only some values are selected" do
    require "rperf_push/data/selection"
    both = part({ wall: [9], samples: [2], weight_squares: [16], wall_squares: [81] }, mode: %i[cpu wall])
    expect(RperfPush::Selection.new(both, [:wall]).data[:values]).to eq({ samples: [2], weight_squares: [81] })
    expect(RperfPush::Selection.new(both, [:cpu]).data[:values]).to eq({ samples: [2], weight_squares: [16] })
  end

  it "comes from all processes of a recorded session, forked and started ones" do
    File.write("#{tmpdir}/work.rb", "#{burn}\nfork { burn(0.3) }\nburn(0.3)\nProcess.wait\n")
    recorded = rperf_push("record", "-o", "#{tmpdir}/p.json", RbConfig.ruby, "#{tmpdir}/work.rb")
    expect(recorded.status).to eq(0), recorded.err
    data = RperfPush.load("#{tmpdir}/p.json")
    expect(data[:values].keys).to eq(%i[samples weight_squares])
    samples, squares, weights = rows_of(data, "Object#burn").transpose.map(&:sum)
    expect(weights).to be_within(0.1e9).of(0.6e9)
    # Equal weights: their square, that often. Unequal ones make it more.
    expect(squares).to be_between((weights**2) / samples, 4 * (weights**2) / samples)
  end
end
