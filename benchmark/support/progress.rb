# frozen_string_literal: true

# What is being measured right now: one line that changes on a terminal, silence elsewhere but for the headings.
class Progress
  def initialize(out = $stderr)
    @out = out
    @started = now
  end

  def heading(text)
    clear
    @out.puts format("[%4d s] %s", now - @started, text)
  end

  def at(text)
    @out.print("\r\e[K  ", text) if @out.tty?
  end

  def clear
    @out.print("\r\e[K") if @out.tty?
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
