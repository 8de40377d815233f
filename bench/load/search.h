// Runs at several rates: a sweep, and the search for the highest rate under a latency bound.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/generator.h"
#include "io/base/result.h"

namespace cellar::bench {

// A rate of a sweep: operations a second, or a share of the closed loop's rate.
struct SweepRate {
  double value = 0;
  bool is_share = false;
};
inline constexpr size_t kMaxSweepRates = 100;
// "10000,20000" or "50%,80%". INVALID_ARGUMENT.
Result<std::vector<SweepRate>> parse_rates(std::string_view text);

// What a rate must reach to count as sustained.
struct Goal {
  double percentile = 99;
  int64_t bound_us = 0;
};
// "p99=1000", "p99.9=2ms", "p50=200us". INVALID_ARGUMENT.
Result<Goal> parse_goal(std::string_view text);

// At least this share of the due requests completes within the run.
inline constexpr double kSustainedShare = 0.99;
// Whether the run kept up with its rate, without failures and under the bound.
bool meets(const Goal& goal, const LoadOptions& options, const LoadResult& result);

// The highest rate in (0, top] for which `try_rate` is true, by bisection until two bounds differ
// by less than `precision` of the higher one; 0 if not even a hundredth of `top` is.
Result<double> highest_rate(double top, double precision,
                            const std::function<Result<bool>(double rate)>& try_rate);

}  // namespace cellar::bench
