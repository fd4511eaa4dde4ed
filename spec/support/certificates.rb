# frozen_string_literal: true

require "openssl"

# An authority of a test's own, and the certificates that it has signed, as PEM files in a folder.
#
#   authority = Certificates.new(tmpdir)
#   authority.file                                       # for tls_ca_file
#   authority.issue("expired", to: Time.now - 60).key    # path of its key
class Certificates
  # Paths of PEM files.
  Pair = Struct.new(:certificate, :key)

  LOOPBACK = "IP:127.0.0.1"

  # @param names [String] what it is for, as in subjectAltName
  # @param issuer [Array(OpenSSL::X509::Certificate, OpenSSL::PKey)] nil: it signs itself
  # @return [Array(OpenSSL::X509::Certificate, OpenSSL::PKey)]
  def self.sign(common_name, names: LOOPBACK, from: Time.now - 60, to: Time.now + 3600, issuer: nil, authority: issuer.nil?)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = OpenSSL::BN.rand(64)
    certificate.subject = OpenSSL::X509::Name.new([["CN", common_name]])
    issuing, issuing_key = issuer || [certificate, key]
    certificate.issuer = issuing.subject
    certificate.public_key = key
    certificate.not_before = from
    certificate.not_after = to
    extensions = OpenSSL::X509::ExtensionFactory.new(issuing, certificate)
    certificate.add_extension(extensions.create_extension("basicConstraints", authority ? "CA:TRUE" : "CA:FALSE", true))
    certificate.add_extension(extensions.create_extension("subjectAltName", names))
    [certificate.sign(issuing_key, "SHA256"), key]
  end

  # @return [String] path of the authority's certificate
  attr_reader :file

  def initialize(folder, name: "test authority")
    @folder = folder
    @authority = self.class.sign(name)
    @file = write("#{name.tr(" ", "-")}.pem", @authority.first)
  end

  # @param self_signed [Boolean] then the authority has nothing to do with it
  # @return [Pair]
  def issue(name, self_signed: false, **options)
    certificate, key = self.class.sign(name, issuer: (@authority unless self_signed), **options)
    Pair.new(write("#{name}.pem", certificate), write("#{name}.key", key))
  end

  private

  def write(name, what)
    File.join(@folder, name).tap { |path| File.write(path, what.to_pem, perm: 0o600) }
  end
end
