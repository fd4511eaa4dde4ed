# frozen_string_literal: true

require "rperf_push"
require "zlib"

# Files that are wrong, or meant to do harm: one line that names the file, and memory in proportion.
RSpec.describe "RperfPush.load", :once, :short do
  include TemporaryFolder

  def failure_of(bytes)
    File.binwrite(path = "#{tmpdir}/bad", bytes)
    RperfPush.load(path)
    nil
  rescue RperfPush::FormatError => e
    expect(e.message.lines.size).to eq(1)
    e.message.delete_prefix("#{path}: ")
  end

  whole = RperfPush::PProf.encode(mode: :cpu, frequency: 1, aggregated_samples: [[[["a.rb", "a"]], 1, 1, 0]], label_sets: [{}])

  {
    "nothing" => ["", "is empty"],
    "any bytes" => ["\x00\x01\x02\xFF" * 20, "pprof: not valid"],
    "text" => ["This is no profile at all.\n", "pprof: not valid"],
    "a text report" => ["Total: 10.0ms (cpu)\nSamples: 10, Frequency: 1000Hz\n", "a text report, from which no profile can be read"],
    "a dump of stackprof" => [Marshal.dump(version: 1.2), "a dump of Ruby, such as stackprof's; what stackprof --stackcollapse makes of it can be read"],
    "half a gzip" => [whole[0, whole.bytesize / 2], /\Anot a whole gzip file/],
    "a gzip of nothing" => [Zlib.gzip(""), "pprof: not valid"],
    "half a pprof" => [Zlib.gunzip(whole)[0..-8], "pprof: not valid"],
    "JSON that is not UTF-8" => ["{\"a\xFF\":1,\"aggregated_samples\":[]}", "not valid JSON: not in UTF-8"],
    "half a JSON" => ['{"mode":"cpu","aggregated_samples":[[', /\Anot valid JSON/],
    "deep JSON" => ["{\"a\":#{"[" * 100_000}", /\Anot valid JSON: nesting/],
    "another JSON" => ['{"a":1}', "no profile: it has no aggregated_samples"],
    "samples that are none" => ['{"aggregated_samples":[1]}', "sample 0 is not [frames, weight, thread_seq, label_set_id]"],
    "samples that are an object" => ['{"aggregated_samples":{"a":1}}', "no profile: it has no aggregated_samples"],
    "a weight that is a text" => ['{"aggregated_samples":[[[],"1",1,0]]}', "sample 0 is not [frames, weight, thread_seq, label_set_id]"],
    "a weight beyond 64 bits" => ['{"aggregated_samples":[[[],9223372036854775808,1,0]]}', "sample 0 is not [frames, weight, thread_seq, label_set_id]"],
    "a thread that is a text" => ['{"aggregated_samples":[[[],1,"x",0]]}', "sample 0 is not [frames, weight, thread_seq, label_set_id]"],
    "a label set that is not there" => ['{"label_sets":[{}],"aggregated_samples":[[[],1,1,0],[[],1,1,7]]}', "sample 1 has no label set 7"],
    "a label set before the first" => ['{"aggregated_samples":[[[],1,1,-1]]}', "sample 0 has no label set -1"],
    "a frequency that is none" => ['{"aggregated_samples":[],"frequency":[]}', "frequency must be a number"],
    "counters that are none" => ['{"aggregated_samples":[],"gc_stats":{"count":"x"}}', "gc_stats must be an object of numbers"],
    "facts that are none" => ['{"aggregated_samples":[],"meta":[]}', "meta must be an object"],
    "values for other samples" => ['{"aggregated_samples":[[[],1,1,0]],"values":{"wall":[1,2]}}', "values must be lists of a number for each sample"],
    "a frame that is not there" => ['{"frames":[],"aggregated_samples":[[[0],1,1,0]]}', "sample 0 has no frame 0"],
    "a place that is no number" => ['{"frames":[["a","b"]],"aggregated_samples":[[[0.5],1,1,0]]}', "sample 0 has no frame 0.5"],
    "a frame without a label" => ['{"aggregated_samples":[[[["a.rb"]],1,1,0]]}',
                                  'a frame must be [path, label] or [path, label, line], got ["a.rb"]'],
    "label sets that are none" => ['{"aggregated_samples":[],"label_sets":[1]}', "label_sets must be a list of objects"],
    "a tree with nothing in it" => ['{"aggregated_samples":[],"tree":{}}', "the tree is not whole"],
    "a tree whose parts are none" => ['{"aggregated_samples":[],"tree":{"facts":{"methods":[[]],"roots":1},"columns":{"sums":[1],"parents":[null]}}}', "the tree is not whole"],
    "a tree that is none" => ['{"aggregated_samples":[],"tree":[]}', "tree must be an object"],
    "a mode that is none" => ['{"aggregated_samples":[],"mode":{"a":1}}', "mode must be a text"],
    "a mode with nothing in it" => ['{"aggregated_samples":[],"mode":[null]}', "mode must be a text"]
  }.each do |name, (bytes, message)|
    it "refuses #{name}" do
      expect(failure_of(bytes)).to message.is_a?(Regexp) ? match(message) : eq(message)
    end
  end

  it "names a file that is not there, and a folder" do
    expect { RperfPush.load("#{tmpdir}/none") }.to raise_error(RperfPush::FormatError, "#{tmpdir}/none: No such file or directory")
    expect { RperfPush.load(tmpdir) }.to raise_error(RperfPush::FormatError, "#{tmpdir}: is a directory")
  end

  it "stops unpacking at a limit, and says how to raise it" do
    File.binwrite(path = "#{tmpdir}/bomb", Zlib.gzip("\0" * (4 * 1024 * 1024)))
    expect { RperfPush.load(path, max_bytes: 1024 * 1024) }
      .to raise_error(RperfPush::FormatError, "#{path}: unpacked has more than 1048576 bytes: to read it all the same, raise --max-bytes (in Ruby max_bytes:) above 1048576")
    expect { RperfPush.load(path, max_bytes: 0) }.to raise_error(ArgumentError, "max_bytes must be a number of bytes above 0, got 0")
  end

  it "reads up to the limit, packed or not" do
    bytes = "a;b 1\n" * 10
    { "raw" => bytes, "packed" => Zlib.gzip(bytes) }.each do |name, written|
      File.binwrite(path = "#{tmpdir}/#{name}", written)
      expect(RperfPush.load(path, max_bytes: bytes.bytesize)[:aggregated_samples].size).to eq(10)
      expect { RperfPush.load(path, max_bytes: bytes.bytesize - 1) }.to raise_error(RperfPush::FormatError, /has more than 59 bytes/)
    end
  end

  # Each unpacks to 16 MiB, from 16 to 60 KB. [what it begins with, what is repeated, what it ends with]
  head = Zlib.gunzip(whole)
  {
    "texts of a pprof" => [head, "\x32\x00", ""],
    "samples of a pprof" => [head, "\x12\x02\x10\x01", ""],
    "deep stacks of a pprof" => [head, "\x12\xE6\x07\x0A\xE1\x07#{"\x01" * 993}\x10\x01", ""],
    "lists of JSON" => ['{"aggregated_samples":[[]', ",[]", "]}"],
    "objects of JSON" => ['{"aggregated_samples":[],"label_sets":[{}', ",{}", "]}"],
    "texts of JSON" => ['{"aggregated_samples":[],"frames":[""', ',""', "]}"],
    "numbers of JSON" => ['{"aggregated_samples":[],"values":{"cpu":[1', ",1e99", "]}}"],
    "samples of JSON" => ['{"frames":[["a","b"]],"aggregated_samples":[[[0],1]', ",[[0],1]", "]}"],
    "lines" => ["", "a 1\n", ""],
    "frames of lines" => ["", "#{"a;" * 5_000}b 1\n", ""]
  }.each do |name, (first, repeated, last)|
    it "takes memory in proportion to the limit for #{name} that gzip packs well" do
      size = 16 * 1024 * 1024
      File.binwrite(path = "#{tmpdir}/bomb", Zlib.gzip(first.b + (repeated.b * (size / repeated.bytesize)) + last.b))
      out, err, = run_ruby(<<~RUBY)
        require "rperf_push"
        peak = -> { File.read("/proc/self/status")[/^VmHWM:\\s+(\\d+)/, 1].to_i / 1024 }
        before = peak.call
        begin
          RperfPush.load(#{path.inspect}, max_bytes: #{size + 1024})
        rescue RperfPush::FormatError => e
          puts peak.call - before, e.message
        end
      RUBY
      mib, message = out.lines(chomp: true)
      expect(message).to match(/\A#{path}: would take more than [2-9]\d MiB of memory: .* above #{size + 1024}\z/), err
      expect(mib.to_i).to be < 16 * 6
    end
  end

  # Ruby 4.0 clears all the bytes that a reader asks for.
  it "takes memory for what is in a file, not for what might be" do
    File.binwrite("#{tmpdir}/whole", whole)
    out, err, = run_ruby("RperfPush.load('#{tmpdir}/whole'); print File.read('/proc/self/status')[/^VmHWM:\\s+(\\d+)/, 1].to_i / 1024")
    expect(out.to_i).to be_between(1, 200), err
  end

  it "refuses or reads whatever became of a byte of a pprof, and stays alive" do
    raw = Zlib.gunzip(whole)
    raw.bytesize.times do |at|
      [0x00, 0x7F, 0xFF].each do |byte|
        changed = raw.dup.tap { |bytes| bytes.setbyte(at, byte) }
        RperfPush::Formats.decode(changed, "changed")
      rescue RperfPush::FormatError
        nil
      end
    end
  end

  it "refuses or reads whatever became of a byte of a JSON file" do
    raw = Zlib.gunzip(whole)
    text = RperfPush::JSONFile.encode(RperfPush::Formats.decode(raw, "whole")).b
    text.bytesize.times do |at|
      ["\x00", "\xFF", "\"", "}", "9"].each do |byte|
        changed = text.dup.tap { |bytes| bytes[at] = byte.b }
        RperfPush::JSONFile.head(changed)
        data = RperfPush::Formats.decode(changed, "changed")
        data[:label_sets].size
      rescue RperfPush::FormatError
        nil
      end
    end
  end
end
