# frozen_string_literal: true

require "rperf_push"
require "rperf_push/settings/role"

RSpec.describe RperfPush::Role, :once, :short do
  {
    ["/usr/bin/puma", [], []] => "web", ["puma: cluster worker 0: 42 [shop]", [], []] => "web", ["unicorn", [], []] => "web",
    ["bin/jobs", ["start"], []] => "jobs", ["sidekiq 8.0.1 shop [0 of 5 busy]", [], []] => "jobs", ["bin/good_job", [], []] => "jobs",
    ["bin/rake", [], ["resque:work"]] => "jobs", ["bin/rails", [], ["solid_queue:start"]] => "jobs", ["rake", ["jobs:work"], []] => "jobs",
    ["irb", [], []] => "console",
    ["bin/rake", ["db:migrate"], ["db:migrate"]] => "task", ["bin/rails", ["runner"], []] => "task", ["-e", [], []] => "task", ["", [], []] => "task"
  }.each do |(program, arguments, rake), role|
    it "is #{role} for #{program.inspect} #{[*arguments, *rake].join(" ")}" do
      expect(described_class.current(program:, arguments:, rake:)).to eq(role)
    end
  end
end
