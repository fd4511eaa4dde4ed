# frozen_string_literal: true

# Whether Unicorn works with this Ruby at all. Its workers accept connections through Kgio, which calls a function of Ruby that
# takes other arguments since 4.0: they crash at the first connection, profiled or not.
module UnicornHere
  ACCEPT = <<~RUBY
    require "kgio"
    server = Kgio::TCPServer.new("127.0.0.1", 0)
    client = Socket.tcp("127.0.0.1", server.local_address.ip_port)
    IO.select([server], nil, nil, 60)
    puts server.kgio_tryaccept.class
  RUBY

  def skip_where_unicorn_crashes
    out, err, status = run_ruby(ACCEPT, require_gem: false, gems: true)
    skip "Unicorn crashes with this Ruby by itself: Kgio's accept does" if status.signaled?
    raise "#{err}#{status}" unless out == "Kgio::Socket\n"
  end
end
