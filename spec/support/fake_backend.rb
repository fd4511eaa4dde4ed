# frozen_string_literal: true

# What the fake servers of backends have in common: an HTTP server on loopback, the list of what came, and faults. Whoever
# includes it calls `serve`, and says in `answer` and `refused` what its own protocol is.
module FakeBackend
end

require_relative "fake_backend/faults"
require_relative "fake_backend/http_server"
require_relative "fake_backend/received"

module FakeBackend
  attr_reader :faults

  # @return [String] what goes into server_address
  def url = @server.url + @prefix

  # @return [Array<Received>] every profile so far, refused ones too
  def received = @lock.synchronize { @received.dup }

  # @return [Array<Received>] those that were taken
  def accepted = received.select(&:accepted?)

  # @return [Integer] uploads that were read whole, whatever became of them
  def requests = @lock.synchronize { @requests }

  # @return [Array<String>] what was taken and yet is not as it should be
  def violations = received.flat_map(&:violations).uniq

  # @return [Hash] what one can know of it, beside what came
  def state = { requests: }

  # @param faults [Hash] see Faults; none clears them
  def fault(**faults)
    @faults.set(**faults)
    @faults.refuse? ? @server.refuse : @server.listen
  end

  def stop = @server.stop

  private

  # @param port [Integer] 0 for a free one
  # @param prefix [String] a path in front of all others, as behind a proxy
  # @param latency [Range] seconds until an upload is answered
  def serve(port:, prefix:, latency:, **)
    @prefix = prefix
    @latency = latency
    @faults = Faults.new
    @received = []
    @lock = Mutex.new
    @requests = 0
    @server = HttpServer.new(port:, **) { |request| @faults.close? ? HttpAnswer.none : answer(request) }
  end

  def record(received) = @lock.synchronize { @received << received }

  # One upload, with what goes wrong now. Stored first, answered late: so it is whether or not anybody still listens.
  #
  # @param good [HttpAnswer]
  # @yieldparam fault [Refusal, nil] what is said in place of storing
  def upload(good)
    @lock.synchronize { @requests += 1 }
    faults = @faults.dup # as they are now, to the end
    refusal = faults.refusal
    delay = faults.delay
    yield (refusal unless faults.stored?)
    sleep(rand(@latency) + delay)
    faults.lost_answer? ? HttpAnswer.none : good_or_refused(good, refusal, faults)
  rescue Refusal => e
    sleep(delay)
    faults.lost_answer? ? HttpAnswer.none : refused(e, refusal ? faults.headers : {})
  end

  def good_or_refused(good, refusal, faults) = refusal ? refused(refusal, faults.headers) : good
end
