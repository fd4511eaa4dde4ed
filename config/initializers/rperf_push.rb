# frozen_string_literal: true

# Continuous profiling: every process of this application samples itself and pushes a profile in every interval.
#
# The commented lines show the defaults. An option that is not set here comes from its environment variable
# RPERF_PUSH_<OPTION>, if that is set. An option that is set here overrides the variable.

require "rperf_push"

RperfPush.configure do |config| # rubocop:disable Style/SymbolProc -- to be filled
  # Names the application after the Rails application and adds the tags env (Rails.env) and role (web, jobs, console, task).
  # Profiling is on in production if the process serves requests or runs jobs. It is off in rake tasks, consoles, tests and
  # development, unless RPERF_PUSH_ENABLED or a line below enables it. Variables and lines below override these defaults.
  config.use_rails_defaults

  # --- destination ---

  # The Rails application's name, or without Rails the program's name
  # config.application_name = "my-application"

  # config.server_address = "http://localhost:4040"

  # Labels of everything that this process sends
  # config.tags = {}

  # :pyroscope; :pyroscope_ingest for old servers; both in an Array to try one after the other; :parca; :http to POST the
  # profile itself; or :directory
  # config.backend = :pyroscope

  # The folder for files NAME-TIME-PID-SEQ.pb.gz, which implies backend :directory, and limits for our files (0: no limit)
  # config.directory = nil
  # config.directory_max_files = 0
  # config.directory_max_bytes = 0

  # Adds the host's name and the process id as tags. With the process id, each process becomes its own series.
  # config.report_hostname = false
  # config.report_pid = false

  # --- sampling ---

  # CPU time, wall time, allocations (:alloc), live objects (:heap), :contention, :custom, or several of them in one run
  # config.mode = [:cpu, :wall]

  # Samples per second for each busy thread, 1 to 1000
  # config.frequency = 99

  # :auto means :signal where it works (Linux, Ruby 3.3.4 or newer), else :safepoint
  # config.engine = :auto

  # Line numbers
  # config.lines = true

  # Leaf frames such as [GVL wait] and [GC marking], for viewers without labels; true by default with backend :parca
  # config.vm_state_frames = false

  # The share of one core that captures may use in application threads; above it, the profiler samples less often
  # config.overhead_limit = 0.01

  # The Unix socket for rperf-push ps, stacks, top, live and attach: :auto is one of this user's own; or a path, or false
  # config.control_socket = :auto

  # --- labels of samples ---

  # Distinct values of one label in a process within an hour; further values read "other"
  # config.max_label_values = 100

  # Name in the process => name sent
  # config.label_names = { "%GVL" => "gvl_state", "%GC" => "gc_phase", "%pid" => "pid" }

  # Labels that are never sent
  # config.label_deny = []

  # Classes of allocated objects as the label class, instead of leaf frames
  # config.class_labels = false

  # Labels samples of a request with how it ended: status ("2xx" to "5xx") and slow ("true", "false")
  # config.outcome_labels = false

  # What is slow: a number of seconds, or :p95, the 95th percentile of the request's own endpoint
  # config.slow_requests = :p95

  # --- delivery, times in seconds ---

  # config.upload_interval = 10
  # config.upload_timeout = 10
  # config.shutdown_timeout = 5

  # Limit for profiles in memory while the backend is away: 16 MiB
  # config.queue_max_bytes = 16_777_216

  # A folder for profiles on disk, which survive restarts, and its limit: 256 MiB
  # config.spool_directory = nil
  # config.spool_max_bytes = 268_435_456

  # Retry requests that went out whole but got no answer; only for servers that drop duplicates
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

  # An object with info, warn and error, or an IO; nil means Rails.logger, or standard error without Rails
  # config.logger = nil
end

# In Rails, requests and Active Jobs get their labels automatically: endpoint ("GET /users/:id"), controller_action, job, queue.
# Without Rails: require "rperf_push/rack", then `use RperfPush::RackMiddleware` in config.ru.
