# frozen_string_literal: true

require "rperf_push"
require "rperf_push/remote/control_client"
require_relative "chromium"
require_relative "listening_process"
require_relative "helpers/command_line"

# A browser for all examples of a group, processes that do what they are told, and what the live page shows of them.
module LivePage
  include CommandLine

  def self.included(group)
    group.before(:context) { @browser = Chromium.new }
    group.after(:context) { @browser&.quit }
    group.after { @programs&.each(&:stop) }
    group.let(:sockets) { "#{tmpdir}/sockets" }
    group.let(:env) { { "RPERF_PUSH_CONTROL_SOCKET" => sockets } }
  end

  attr_reader :browser

  # @param code [String] writes the line "ready" when it is
  # @param service [String, nil] the name of its continuous session; nil: it has none
  def working(code, service: nil)
    settings = { "RPERF_PUSH_APPLICATION_NAME" => service }.compact
    program = ListeningProcess.new(sockets, code, profiles: ("#{tmpdir}/profiles" if service), env: settings)
    (@programs ||= []) << program
    program
  end

  # @yieldparam url [String]
  def live(*arguments, &) = serving("live", *arguments, env:, &)

  def client_of(program) = RperfPush::ControlClient.new("#{sockets}/#{program.pid}.sock")

  # @param doing [String] "recorded" or "traced"
  def says?(doing, *programs) = programs.all? { |one| browser.text("#processes").include?("process #{one.pid} is #{doing}") }

  # @return [Array<Array<String>>] process, thread, state and place of each
  def threads = browser.rows("#threads")

  # @return [Array<String>] the methods in which a thread is
  def lit = browser.run("[...document.querySelectorAll('g.frame.lit')].map((box) => box.getAttribute('name'))")
end
