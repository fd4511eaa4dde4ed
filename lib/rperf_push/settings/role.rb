# frozen_string_literal: true

module RperfPush
  # The role of an application's process, from the program it runs: "web", "jobs", "console", or "task" for all others.
  module Role
    WORKERS = /\A(?:sidekiq|sidekiqswarm|good_job|jobs|delayed_job|resque(?:-pool)?|shoryuken|que)\z/
    SERVERS = /\A(?:puma|unicorn|unicorn_rails|pitchfork|falcon|falcon-host|thin|rackup|passenger|thrust)\z/
    WORKER_TASKS = /\A(?:resque:(?:work|workers|pool)|jobs:work(?:off)?|solid_queue:start|good_job:start)\z/

    module_function

    # @return [String]
    def current(program: $PROGRAM_NAME, arguments: ARGV, rake: rake_tasks)
      name = File.basename(program.to_s.split(/[\s:]/).first.to_s, ".rb")
      tasks = name == "rake" ? rake + arguments : rake
      return "jobs" if name.match?(WORKERS) || tasks.any?(WORKER_TASKS)
      return "console" if name == "irb" || defined?(::Rails::Console)

      serves?(name) ? "web" : "task"
    end

    def serves?(name) = name.match?(SERVERS) || defined?(::Rails::Server) || defined?(::PhusionPassenger)

    # The tasks on the command line of `rake` or `rails TASK`.
    def rake_tasks
      defined?(::Rake) && ::Rake.respond_to?(:application) ? ::Rake.application.top_level_tasks : []
    end
    private_class_method :serves?, :rake_tasks
  end
end
