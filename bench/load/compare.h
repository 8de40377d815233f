// The comparison of two sets of results, with confidence intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "io/base/result.h"

namespace cellar::bench {

// The ratio of the means of two samples of positive numbers, b to a, with a confidence interval.
struct Ratio {
  double ratio = 0;
  double low = 0;
  double high = 0;
  // The interval does not contain 1.
  bool differs() const { return low > 1 || high < 1; }
};
inline constexpr double kConfidence = 0.95;

// Of the geometric means, by Welch's test on the logarithms. Empty if a sample has fewer than two
// numbers, or one that is not positive.
std::optional<Ratio> ratio_of(const std::vector<double>& a, const std::vector<double>& b);

// The results in a file: one JSON object per line, as cellar-bench --json prints them. Errors:
// NOT_FOUND, INVALID_ARGUMENT naming the line.
Result<std::vector<boost::json::object>> read_results(const std::string& path);

// What is compared of a result, and how it is sampled: one number per result, or, if a side has
// fewer than three results, one per whole interval of them.
struct Comparison {
  struct Row {
    std::string operation;  // "all", "read" and so on
    std::string figure;     // "per_second", "p50_us", "p99_us"
    double a = 0;           // means
    double b = 0;
    std::optional<Ratio> ratio;
  };
  bool by_interval = false;
  size_t samples_a = 0;
  size_t samples_b = 0;
  std::vector<std::string> warnings;
  std::vector<Row> rows;
};
Comparison compare(const std::vector<boost::json::object>& a,
                   const std::vector<boost::json::object>& b);

std::string text_of(const Comparison& comparison);
boost::json::object json_of(const Comparison& comparison);

}  // namespace cellar::bench
