# frozen_string_literal: true

# Continuous profiling: every process of this application samples itself and pushes a profile at every interval.
#
# The lines with a "# " before them show the defaults. What is not written here is taken from the environment: each option
# has a variable RPERF_PUSH_<OPTION>. What is written here wins.

require "rperf_push"

RperfPush.configure do |config|
  config.application_name = ENV.fetch("RPERF_PUSH_APPLICATION_NAME", "my-application")
  config.server_address = ENV.fetch("RPERF_PUSH_SERVER_ADDRESS", "http://localhost:4040")
  config.tags = { env: ENV.fetch("RAILS_ENV") { ENV.fetch("RACK_ENV", "development") } }

  # --- where to ---

  # :pyroscope, :pyroscope_ingest for old servers, both in an Array to try one after the other, :parca, :http for a POST of
  # the bare profile, or :directory
  # config.backend = :pyroscope

  # For :directory: where NAME-TIME-PID-SEQ.pb.gz goes, and what may lie there at the most (0: no limit).
  # config.directory = nil
  # config.directory_max_files = 0
  # config.directory_max_bytes = 0

  # The host's name and the process id as tags. Each process becomes a series of its own.
  # config.report_hostname = false
  # config.report_pid = false

  # --- what and how often ---

  # CPU time, wall time, or both in one run
  # config.mode = [:cpu, :wall]

  # Samples a second for each busy thread, 1 to 1000
  # config.frequency = 99

  # :auto is :signal where that works (Linux, Ruby 3.3.4 or newer), else :safepoint
  # config.engine = :auto

  # Line numbers
  # config.lines = true

  # Leaf frames [GVL wait], [GC marking] and so on, for viewers without labels; true when the backend is :parca
  # config.vm_state_frames = false

  # The share of one core that the profiler may use in the application's threads; above it, it samples less often
  # config.overhead_limit = 0.01

  # --- labels of samples ---

  # Distinct values of one label and window; further ones read "other"
  # config.max_label_values = 100

  # Name in the process => name sent
  # config.label_names = { "%GVL" => "gvl_state", "%GC" => "gc_phase", "%pid" => "pid" }

  # Labels that are never sent
  # config.label_deny = []

  # --- delivery, times in seconds ---

  # config.upload_interval = 10
  # config.upload_timeout = 10
  # config.shutdown_timeout = 5

  # What waits in memory for a backend that is away: 16 MiB
  # config.queue_max_bytes = 16_777_216

  # What waits on disk, across restarts: 256 MiB in this folder
  # config.spool_directory = nil
  # config.spool_max_bytes = 268_435_456

  # Send again what went out whole but got no answer: for servers known to drop duplicates
  # config.resend_unconfirmed = false

  # --- access ---

  # config.basic_auth_username = nil
  # config.basic_auth_password = nil
  # config.auth_token = nil
  # config.tenant_id = nil
  # config.http_headers = {}

  # config.tls_ca_file = nil
  # config.tls_client_cert = nil
  # config.tls_client_key = nil
  # config.tls_verify = true
  # config.proxy = nil

  # --- the profiler itself ---

  # config.enabled = true

  # Anything with info, warn and error, or an IO; nil is Rails.logger, or standard error without Rails
  # config.logger = nil
end

# Label requests with their endpoint ("GET /users/:id"):
#
#   require "rperf_push/rack"
#   Rails.application.config.middleware.use RperfPush::RackMiddleware   # in Rails
#   use RperfPush::RackMiddleware                                       # in config.ru
