# frozen_string_literal: true

require_relative "backend_server"
require_relative "parca_client"

# A real Parca.
class ParcaServer < BackendServer
  NAME = "Parca"
  HINT = "no Parca here: set PARCA to the path of its program (https://github.com/parca-dev/parca/releases), put it on PATH " \
         "as `parca`, or set PARCA_URL to a server that runs"
  PORTS = 1

  private

  def ready? = ParcaClient.new(url).ready?

  # Listens on loopback, keeps everything in its folder, and has nobody to report to.
  def arguments(port)
    config = File.join(@folder, "parca.yaml")
    File.write(config, "object_storage: {bucket: {type: FILESYSTEM, config: {directory: ./data}}}\n")
    ["--config-path=#{config}", "--http-address=127.0.0.1:#{port}", "--storage-active-memory=134217728",
     "--debuginfod-upstream-servers=http://127.0.0.1:1", "--profile-share-server=127.0.0.1:1"]
  end
end
