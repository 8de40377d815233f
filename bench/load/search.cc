#include "bench/load/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cellar::bench {
namespace {

// Reads a positive number from the head of `text` and removes it.
bool take_number(std::string_view& text, double& number) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return ec == std::errc() && number > 0 && number < 1e12;
}

}  // namespace

Result<std::vector<SweepRate>> parse_rates(std::string_view text) {
  std::vector<SweepRate> rates;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    SweepRate rate;
    if (!take_number(part, rate.value) || (!part.empty() && part != "%"))
      return fail(Errc::invalid_argument, "rates '{}': a rate is a number above 0, or with %",
                  text);
    rate.is_share = part == "%";
    if (rate.is_share) rate.value /= 100;
    rates.push_back(rate);
  }
  if (rates.empty() || rates.size() > kMaxSweepRates)
    return fail(Errc::invalid_argument, "rates '{}': 1 to {} of them", text, kMaxSweepRates);
  return rates;
}

Result<Goal> parse_goal(std::string_view text) {
  Goal goal;
  std::string_view rest = text;
  double bound = 0;
  const bool good = rest.starts_with('p') && (rest.remove_prefix(1), true) &&
                    take_number(rest, goal.percentile) && goal.percentile <= 100 &&
                    rest.starts_with('=') && (rest.remove_prefix(1), true) &&
                    take_number(rest, bound) && (rest.empty() || rest == "us" || rest == "ms");
  if (!good)
    return fail(Errc::invalid_argument, "bound '{}': write it as p99=1000, p99.9=2ms or p50=200us",
                text);
  goal.bound_us = static_cast<int64_t>(rest == "ms" ? bound * 1000 : bound);
  return goal;
}

bool meets(const Goal& goal, const LoadOptions& options, const LoadResult& result) {
  const double due = options.rate * static_cast<double>(options.duration_us) / 1e6;
  return result.invalid_reason(options).empty() && result.failed() == 0 &&
         static_cast<double>(result.completed()) >= due * kSustainedShare &&
         result.per_second() >= options.rate * kSustainedShare &&
         all_latencies(result.operations).percentile(goal.percentile) <=
             static_cast<uint64_t>(goal.bound_us) * 1000;
}

Result<double> highest_rate(double top, double precision,
                            const std::function<Result<bool>(double rate)>& try_rate) {
  double good = 0;
  double bad = top;
  TRY(const bool all, try_rate(top));
  if (all) return top;
  while (bad - good > bad * precision && bad > top / 100) {
    const double middle = (good + bad) / 2;
    TRY(const bool is_good, try_rate(middle));
    (is_good ? good : bad) = middle;
  }
  return good;
}

}  // namespace cellar::bench
