# frozen_string_literal: true

profiled = ENV["SHOP_PROFILE"] != "0" # with 0 the profiler is not even loaded: for comparisons

require_relative "initializers/rperf_push" if profiled
require_relative "lib/shop"

use Shop::Debug if Shop::Debug.wanted?
use RperfPush::RackMiddleware if profiled
use Shop::Compression
run Shop.application
