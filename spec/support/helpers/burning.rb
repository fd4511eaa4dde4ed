# frozen_string_literal: true

# What programs of the specs do to be seen.
module Burning
  # Ruby code. So much CPU time meets ticks for sure, if all are taken (CONTRIBUTING.md).
  CODE = <<~RUBY
    def burn(seconds = 0.12)
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    end
  RUBY
end
