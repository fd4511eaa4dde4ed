# frozen_string_literal: true

require "rperf_push/cli"
require_relative "../support/profile_page"

# Names come from whoever wrote the program, the file, or the address.
RSpec.describe "The page of hostile names", :once do
  include CommandLine
  include ProfilePage

  evil = "</script></style><script>window.broken = 1</script><img src=x onerror=\"window.broken = 1\"><svg onload='window.broken = 1'><!--"
  file = "<img src=x onerror=window.broken=1>.json"
  views = %w[flame table callers tree tags timeline source]
  data = {
    mode: :cpu, start_time_ns: 1_700_000_000_000_000_000, duration_ns: 1_000_000_000,
    meta: { git: { sha: evil, subject: evil, branch: evil, committed_at: "2026-01-01T00:00:00Z" }, ruby_version: evil, hostname: evil, command: [evil], labels: { evil => evil } },
    aggregated_samples: [[[["#{evil}.rb", evil, 1], ["x.rb", "constructor", 1]], 2_000_000, 1, 0], [[["x.rb", "__proto__", 1]], 1_000_000, 1, 1]],
    label_sets: [{ evil.to_sym => evil, __proto__: "proto" }, { constructor: "one" }], values: { evil.to_sym => [1, 2] }
  }

  def expect_harmless
    expect(browser.run("window.broken ?? null")).to be_nil
    expect(browser.run("document.querySelectorAll('img, main script, iframe, object, embed').length")).to eq(0)
  end

  # In each view with what else shows names: menus, snapshots, a comparison, a search.
  def look_at_all(url, views, evil)
    views.each do |view|
      [{ tagroot: evil, tagleaf: evil, group: "file" }, { compare: "label", key: evil, base: evil, target: evil },
       { compare: "range", base: "0-0", target: "1-1", value: evil }, { method: JSON.generate([evil, "#{evil}.rb"]), search: evil, only: evil, range: evil, span: evil, sort: evil }].each do |state|
        browser.show(url, view:, **state)
        browser.run("document.querySelectorAll('.menu-holder').forEach((menu) => (menu.open = true))")
        expect_harmless
      end
    end
  end

  it "runs nothing, in one file" do
    url = page({ file => data, "b#{file}" => data, "#{file}.pb" => RperfPush::Formats.encode(data, "x.pb"), "bad#{file}" => "{" })
    before = browser.requests.size
    look_at_all(url, views, evil)
    browser.show(url)
    expect(browser.boxes).to include(evil, "constructor", "__proto__")
    expect(browser.run("[...document.querySelectorAll('#about dd')].filter((one) => one.textContent.startsWith(#{JSON.generate(evil).gsub("</", "<\\/")})).length")).to eq(5)
    expect(browser.text(".problems")).to start_with("bad#{file}: ")
    expect(browser.requests.drop(before)).to all(start_with("file:").or(start_with("data:")).or(start_with("about:")).or(start_with("blob:")))
  end

  it "runs nothing where it is served, and no script that comes into the page either" do
    Dir.mkdir("#{tmpdir}/<img src=x onerror=window.broken=1>")
    [file, "b#{file}"].each { |name| RperfPush.save("#{tmpdir}/<img src=x onerror=window.broken=1>/#{name}", data) }
    serving("view", "#{tmpdir}/<img src=x onerror=window.broken=1>") do |url|
      look_at_all(url, views, evil)
      browser.run(<<~JS)
        (() => {
          document.body.insertAdjacentHTML("beforeend", "<img src='data:,x' onerror='window.inline = 1'><p id='styled' style='color: rgb(1, 2, 3)'></p>");
          const script = document.createElement("script");
          script.textContent = "window.inline = 1";
          document.body.append(script);
        })()
      JS
      browser.until_true("the image to fail") { browser.run("[...document.images].every((image) => image.complete)") }
      expect(browser.run("[window.inline ?? null, getComputedStyle(document.querySelector('#styled')).color === 'rgb(1, 2, 3)']")).to eq([nil, false])
    end
  end

  it "knows labels that are called like what every object has" do
    browser.show(page({ file => data }), tagroot: "constructor")
    expect(browser.boxes).to include(shares("[constructor: (none)]" => 2 / 3.0, "[constructor: one]" => 1 / 3.0))
    browser.show(page({ file => data }), tagroot: "__proto__")
    expect(browser.boxes).to include(shares("[__proto__: proto]" => 2 / 3.0, "[__proto__: (none)]" => 1 / 3.0))
  end

  # 24 KB that become 24 MiB, and as objects 400 MB and more.
  it "opens no small file that would fill the memory, and says how to open it all the same" do
    size = 24 * 1024 * 1024
    pprof = Zlib.gunzip(RperfPush::Formats.encode(data, "x.pb"))
    bombs = {
      "zeros.pb" => "\0" * (size + 1), "lists.json" => "{\"aggregated_samples\":[[]#{",[]" * (size / 3)}]}",
      "lines.txt" => "a 1\n" * (size / 4), "texts.pb" => pprof + ("\x32\x00".b * ((size - pprof.bytesize) / 2))
    }
    paths = bombs.map { |name, bytes| "#{tmpdir}/#{name}".tap { |path| File.binwrite(path, Zlib.gzip(bytes)) } }
    RperfPush.save(good = "#{tmpdir}/good.json.gz", data)
    serving("view", "--max-bytes", size.to_s, *paths, good) do |url|
      browser.show(url)
      problems = browser.text(".problems")
      expect(bombs.keys.map { |name| problems[/#{name}: too large: more than 24 MiB unpacked, or too much in it/] }).to all(be_a(String)), problems
      expect(browser.boxes).to include("constructor")
    end
  end
end
