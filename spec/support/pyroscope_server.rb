# frozen_string_literal: true

require_relative "backend_server"
require_relative "pyroscope_client"

# A real Pyroscope.
class PyroscopeServer < BackendServer
  NAME = "Pyroscope"
  HINT = "no Pyroscope here: set PYROSCOPE to the path of its program (https://github.com/grafana/pyroscope/releases), " \
         "put it on PATH as `pyroscope`, or set PYROSCOPE_URL to a server that runs"
  PORTS = 4

  private

  def ready? = PyroscopeClient.new(url).ready?

  # Everything listens on loopback, everything is kept in the folder, nothing is reported home.
  def arguments(http, grpc, members, raft)
    {
      "target" => "all", "architecture.storage" => "v2",
      "server.http-listen-address" => "127.0.0.1", "server.http-listen-port" => http,
      "server.grpc-listen-address" => "127.0.0.1", "server.grpc-listen-port" => grpc,
      "memberlist.bind-addr" => "127.0.0.1", "memberlist.advertise-addr" => "127.0.0.1", "memberlist.bind-port" => members,
      "distributor.ring.store" => "inmemory", "distributor.ring.instance-addr" => "127.0.0.1",
      "overrides-exporter.ring.store" => "inmemory", "overrides-exporter.ring.instance-addr" => "127.0.0.1",
      "query-scheduler.ring.store" => "inmemory", "query-scheduler.ring.instance-addr" => "127.0.0.1",
      "query-frontend.instance-addr" => "127.0.0.1", "segment-writer.lifecycler.addr" => "127.0.0.1",
      "segment-writer.min-ready-duration" => "0s", "segment-writer.metadata-update-timeout" => "0s",
      "metastore.min-ready-duration" => "0s", "metastore.address" => "127.0.0.1:#{grpc}",
      "metastore.raft.server-id" => "127.0.0.1:#{raft}", "metastore.raft.bind-address" => "127.0.0.1:#{raft}",
      "metastore.raft.advertise-address" => "127.0.0.1:#{raft}", "metastore.raft.dir" => "#{@folder}/raft",
      "metastore.raft.snapshots-dir" => "#{@folder}/snap", "metastore.data-dir" => "#{@folder}/meta",
      "query-backend.address" => "127.0.0.1:#{grpc}", "storage.backend" => "filesystem",
      "storage.filesystem.dir" => "#{@folder}/store", "usage-stats.enabled" => "false",
      "self-profiling.disable-push" => "true"
    }.map { |name, value| "-#{name}=#{value}" }
  end
end
