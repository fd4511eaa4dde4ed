# frozen_string_literal: true

module RperfPush
  module CLI
    # What a person can do about an upload that did not succeed. The core says what happened, as a sentence and a code; this says what
    # that usually means, and which setting to look at.
    class Advice
      GRAFANA_CLOUD = %r{\.grafana\.net(?::\d+)?(?:/|\z)}

      PROXY_ACCESS = "The proxy wants a user and a password: proxy = http://user:password@host:port."

      # By the core's code, core/http/http_failure.h.
      FAILURES = {
        host_unknown:
          "That name is not known on this machine: look for a spelling mistake in server_address. In a container, the name must " \
          "be known in the container's network.",
        proxy_unknown: "Look at the option proxy, and at http_proxy and https_proxy in the environment.",
        proxy_wants_password: PROXY_ACCESS,
        proxy_refused:
          "The proxy does not lead to that address: look at server_address, at the option proxy, and at no_proxy in the environment.",
        connection_refused:
          "Nothing listens there: is the server running, and is the port of server_address right (Pyroscope 4040, Parca 7070)? " \
          "In a container, localhost is the container itself.",
        unreachable: "The network does not lead there: look at server_address, routes and firewalls.",
        nobody_there: "Nobody answers there. A firewall that drops packets looks like that, and so does a wrong address.",
        tls_untrusted:
          "No authority that this machine knows has signed the server's certificate. If it is your own, give the certificate of " \
          "its authority as tls_ca_file (RPERF_PUSH_TLS_CA_FILE).",
        tls_expired: "The server's certificate has expired, or the clock of this machine is wrong.",
        tls_other_name: "The server's certificate is for another name: server_address must use a name that stands in it.",
        tls_not_spoken: "No TLS is spoken at that port: does server_address want http:// in place of https://?",
        tls_broken_off: "The server broke the handshake off: it may want a client certificate (tls_client_cert, tls_client_key).",
        tls: "Look at tls_ca_file, and whether the server speaks TLS at that port.",
        too_slow:
          "The server was reached but did not answer in time: it or a proxy in front is overloaded, or upload_timeout is too short.",
        broken_off: "Something listens there but does not speak HTTP, or broke off: is the port right, and does it want https://?",
        outside_window: "The server takes profiles of the last hour only, by its own clock: compare the clocks of both machines.",
        label_name:
          "Servers before Pyroscope 2 allow label names of letters, digits and _ only, and refuse the whole profile for one other " \
          "name. Rename it with label_names, leave it out with label_deny, or change the tag.",
        too_many_labels: "A series may have 30 labels, those of the samples among them: use fewer tags and labels.",
        too_large: "The profile is larger than the server takes."
      }.freeze

      STATUSES = {
        404 => "Something answers there, but it is not what the backend expects: look at the path in server_address. Pyroscope " \
               "behind a proxy often has a prefix; versions before 1.0 want backend pyroscope_ingest, Parca wants backend parca.",
        405 => "Something answers there, but takes no uploads at that path: look at server_address and backend.",
        407 => PROXY_ACCESS,
        408 => "The server gave up waiting for the request: look at proxies in between.",
        413 => "A proxy in between allows smaller requests only (nginx: client_max_body_size, 8m is enough).",
        415 => "A proxy changes the Content-Type, or server_address is not that of the backend.",
        422 => "The server could not read it as a profile: is backend right for this server?",
        429 => "The server limits how much it takes; raise its limit, or profile fewer processes.",
        500 => "The server failed; its own log says more.",
        501 => "The server does not know this request: look at backend and server_address.",
        502 => "A proxy answers, but the server behind it does not.",
        503 => "The server is there but not ready; try again in a moment.",
        504 => "A proxy or the server gave up waiting; the profile may have been stored all the same."
      }.freeze

      # @param result [Hash] as Native.deliver returns it
      # @param settings [Settings]
      def initialize(result, settings)
        @result = result
        @settings = settings
      end

      # @return [String, nil]
      def text
        status = @result[:http_status]
        return FAILURES[failure] unless status
        return access if [401, 403].include?(status)
        return plain_http if status == 400 && failure == :unexplained
        return if (300..399).cover?(status) # the message names the setting

        FAILURES[failure] || STATUSES[status] || (STATUSES[500] if status >= 500)
      end

      private

      def failure = @result[:failure]

      def access
        return grafana_cloud if GRAFANA_CLOUD.match?(@result[:target])
        return "The server serves several tenants: set tenant_id (RPERF_PUSH_TENANT_ID)." if failure == :no_tenant

        "#{given_access} In Grafana Cloud the user is the number of the stack's profiles instance, not a login name, and the " \
          "password is an access token."
      end

      def given_access
        used = { "auth_token" => "auth_token", "basic_auth_username" => "basic_auth_username and basic_auth_password",
                 "http_headers" => "http_headers" }.find { |option, _| @settings.chosen?(option) }&.last
        used ||= "the user and password in server_address" if @settings.credentials_in_address?
        return "No credentials are set: basic_auth_username and basic_auth_password, or auth_token." unless used

        "The server does not accept #{used}."
      end

      def grafana_cloud
        "Grafana Cloud wants basic_auth_username = the number that its page of the stack shows under Pyroscope as User, and " \
          "basic_auth_password = an access policy token with the scope profiles:write. #{given_access}"
      end

      def plain_http
        "A server that speaks TLS answers plain HTTP like that: does server_address want https://?" if @result[:target].start_with?("http:")
      end
    end
  end
end
