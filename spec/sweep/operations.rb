# frozen_string_literal: true

# What a tick may interrupt at its most delicate, each in a method of its own. Each does the same whenever it is called.
class Operations
  class << self
    attr_reader :all

    # The method that follows is an operation.
    #
    # @param busy [Hash{String => Integer}] methods that must be the leaf for at least so many instructions
    # @param calls [Hash{String => Integer}] methods that are called so often
    # @param unseen [Array<String>] methods that compiled code may leave out: it knows what they return
    # @param apart [Array<String>] begin anywhere: what the VM calls when it comes to it
    # @param long [Boolean] has more instructions than anybody has time for: swept in bursts
    # @param turns [Integer] how often it is called before it is swept
    # @param alone [Boolean] nothing is known of it from the VM's events
    def operation(busy: {}, calls: {}, unseen: [], apart: [], long: false, turns: 40, alone: false)
      @options = { busy:, calls:, unseen:, apart:, long:, turns:, alone: }
    end

    def method_added(name)
      (@all ||= {})[name] = @options if @options
      @options = nil
    end
  end
end

Dir[File.join(__dir__, "operations", "*.rb")].each { |file| require file }
