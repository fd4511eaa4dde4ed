# frozen_string_literal: true

require "rbconfig"

# The C files of this folder, built for the Ruby that runs when they are first needed.
module CExtension
  TARGETS = File.expand_path("../../tmp/benchmark/#{RUBY_VERSION}", __dir__)

  module_function

  # @return [String] the library's path
  def build(name)
    source = File.join(__dir__, "#{name}.c")
    target = File.join(TARGETS, "#{name}.so")
    compile(source, target) unless File.exist?(target) && File.mtime(target) > File.mtime(source)
    target
  end

  def compile(source, target)
    folders = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir").map { |folder| "-I#{folder}" }
    system("mkdir", "-p", TARGETS, exception: true)
    system("cc", "-O2", "-shared", "-fPIC", *folders, source, "-o", target, "-ldl", exception: true)
  end
end
