# frozen_string_literal: true

def price(n)
  n < 2 ? n : price(n - 1) + price(n - 2)
end

def pack(count) = Array.new(count) { |i| "item #{i}" }.sort.join(",").size

def wait_for_stock = sleep(0.02)

def order(name)
  Rperf.label(order: name) { price(21); pack(20_000); wait_for_stock }
end

order("büro")
Rperf.label(tenant: "acme") { order("home") }
other = Thread.new { Rperf.label(worker: "1") { price(22) } }
GC.start
pid = fork { order("child") } unless ARGV.first == "alone"
other.join
Process.wait(pid) if pid
