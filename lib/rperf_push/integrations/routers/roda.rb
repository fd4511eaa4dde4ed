# frozen_string_literal: true

module RperfPush
  module Routers
    # Branches of Roda's routing tree: `GET /users/:id`, as deep as the request has come. A String stands for itself,
    # a Symbol or a class that matches anything becomes ":name", and a Regexp becomes its source.
    module Roda
      # Matches, and then runs its block.
      module Matching
        def on(*matchers, &block) = super(*matchers, &rperf_push_named(matchers, block))
        def is(*matchers, &block) = super(*matchers, &rperf_push_named(matchers, block))
        def root(&block) = super(&rperf_push_named(["/"], block))

        def run(app)
          request = Request.of(env)
          if request && @rperf_push_template
            script_name = env["SCRIPT_NAME"] + env["PATH_INFO"].delete_suffix(real_remaining_path)
            request.mount(@rperf_push_template, script_name:, before: env["SCRIPT_NAME"])
          end
          super
        end

        # For the plugin: it finds a branch by its first segment, which the program contains.
        def hash_branches(*)
          outer = @rperf_push_template
          @rperf_push_branch = "#{outer}#{@remaining_path[%r{\A/[^/]*}]}"
          super
        ensure
          @rperf_push_branch = nil
          @rperf_push_template = outer
        end

        private

        def always
          if @rperf_push_branch
            @rperf_push_template = @rperf_push_branch
            @rperf_push_branch = nil
            Request.of(env)&.route(env, @rperf_push_template)
          end
          super
        end

        def _verb(matchers, &block) = super(matchers, &rperf_push_named(matchers, block))

        # Runs after the matchers have matched and before the application's block. Inside that block, this is the branch.
        def rperf_push_named(matchers, block)
          request = Request.of(env) if block
          return block unless request

          matchers = matchers.dup # Roda adds to its own
          proc do |*captures|
            outer = @rperf_push_template
            @rperf_push_template = "#{outer}#{Roda.template(matchers, captures)}"
            request.route(env, @rperf_push_template)
            block.call(*captures)
          ensure
            @rperf_push_template = outer
          end
        end
      end

      # The whole tree.
      module Tree
        def _roda_handle_main_route
          super.tap do |response|
            request = Request.of(env)
            request.unrouted if request && !request.named? && response[0] == 404
          end
        end
      end

      # Plugins come between the request's class and its ancestors, so each application's class gets the hooks.
      module Inherited
        def inherited(subclass)
          super
          subclass::RodaRequest.prepend(Matching) unless subclass::RodaRequest.ancestors.include?(Matching)
        end
      end

      class << self
        def template(matchers, captures)
          matchers.map { |matcher| segment(matcher, captures) }.join
        end

        def hook(roda)
          roda.subclasses.each do |subclass|
            subclass::RodaRequest.prepend(Matching) unless subclass::RodaRequest.ancestors.include?(Matching)
            hook(subclass)
          end
        end

        private

        def segment(matcher, captures)
          case matcher
          when String then "/#{matcher}"
          when Symbol then "/:#{matcher}"
          when Class then "/:#{matcher.name.to_s.downcase}"
          when Regexp then "/#{matcher.source}"
          when Array, Set then one_of(matcher, captures)
          when Hash then matcher.map { |key, value| pair(key, value, captures) }.join
          else "" # true, a Proc: they match no part of the path
          end
        end

        # Roda passes the matched one to the block.
        def one_of(matchers, captures)
          literal = matchers.find { |matcher| matcher.is_a?(String) && captures.include?(matcher) }
          literal ? "/#{literal}" : "/:any"
        end

        def pair(key, value, captures)
          case key
          when :all then template(value, captures)
          when :method then ""
          when :extension then ".#{value}"
          else "/:#{key}"
          end
        end
      end

      Routers.before(::Roda, Tree)
      Routers.before(::Roda.singleton_class, Inherited)
      hook(::Roda)
    end
  end
end
