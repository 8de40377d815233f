#include "bench/load/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace cellar::bench {
namespace {

namespace json = boost::json;
using Results = std::vector<json::object>;

constexpr size_t kEnoughResults = 3;
constexpr const char* kFigures[] = {"per_second", "p50_us", "p99_us"};

struct Sample {
  double mean = 0;
  double variance = 0;  // of the mean
  double freedom = 0;
};

std::optional<Sample> of_logarithms(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 2) return std::nullopt;
  double sum = 0;
  for (double v : values) {
    if (!(v > 0)) return std::nullopt;
    sum += std::log(v);
  }
  Sample sample{sum / n, 0, n - 1};
  for (double v : values) sample.variance += std::pow(std::log(v) - sample.mean, 2);
  sample.variance /= (n - 1) * n;
  return sample;
}

double number(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_number() ? v->to_number<double>() : 0;
}

const json::object* operation_of(const json::object& o, const std::string& operation) {
  if (operation == "all") return &o;
  const json::value* all = o.if_contains("operations");
  const json::value* one =
      all != nullptr && all->is_object() ? all->get_object().if_contains(operation) : nullptr;
  return one != nullptr && one->is_object() ? &one->get_object() : nullptr;
}

// The last interval of a result may be shorter than the others.
std::vector<const json::object*> whole_intervals(const json::object& result) {
  std::vector<const json::object*> whole;
  const json::value* intervals = result.if_contains("intervals");
  if (intervals == nullptr || !intervals->is_array()) return whole;
  double longest = 0;
  for (const json::value& i : intervals->get_array())
    if (i.is_object()) longest = std::max(longest, number(i.get_object(), "length_s"));
  for (const json::value& i : intervals->get_array())
    if (i.is_object() && number(i.get_object(), "length_s") > longest * 0.9)
      whole.push_back(&i.get_object());
  return whole;
}

std::vector<double> sample_of(const Results& results, const std::string& operation,
                              const char* figure, bool by_interval) {
  std::vector<double> values;
  const auto take = [&](const json::object& from) {
    const json::object* o = operation_of(from, operation);
    if (o != nullptr && number(*o, "completed") > 0) values.push_back(number(*o, figure));
  };
  for (const json::object& result : results) {
    if (!by_interval) {
      take(result);
      continue;
    }
    for (const json::object* interval : whole_intervals(result)) take(*interval);
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

std::set<std::string> operations_of(const Results& results) {
  std::set<std::string> names;
  for (const json::object& result : results) {
    const json::value* operations = result.if_contains("operations");
    if (operations == nullptr || !operations->is_object()) continue;
    for (const auto& [name, unused] : operations->get_object()) names.emplace(name);
  }
  return names;
}

void warn(const Results& results, const char* side, std::vector<std::string>& warnings) {
  for (const json::object& result : results) {
    const json::value* valid = result.if_contains("valid");
    if (valid != nullptr && valid->is_bool() && !valid->get_bool())
      warnings.push_back(fmt::format("{} has an invalid result", side));
    if (number(result, "failed") > 0)
      warnings.push_back(
          fmt::format("{}: {:.0f} operations failed", side, number(result, "failed")));
  }
}

// Options that make two results incomparable.
void warn_of_options(const json::object& a, const json::object& b,
                     std::vector<std::string>& warnings) {
  for (const char* key :
       {"connections", "depth", "threads", "rate", "fields", "value_bytes", "keys", "read_share"}) {
    if (number(a, key) != number(b, key))
      warnings.push_back(
          fmt::format("{} differs: {:g} and {:g}", key, number(a, key), number(b, key)));
  }
}

}  // namespace

std::optional<Ratio> ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  const auto from = of_logarithms(a);
  const auto to = of_logarithms(b);
  if (!from || !to) return std::nullopt;
  const double difference = to->mean - from->mean;
  const double variance = from->variance + to->variance;
  if (variance == 0) return Ratio{std::exp(difference), std::exp(difference), std::exp(difference)};
  const double freedom =
      variance * variance /
      (from->variance * from->variance / from->freedom + to->variance * to->variance / to->freedom);
  const boost::math::students_t t(freedom);
  const double reach = boost::math::quantile(t, 1 - (1 - kConfidence) / 2) * std::sqrt(variance);
  return Ratio{std::exp(difference), std::exp(difference - reach), std::exp(difference + reach)};
}

Result<Results> read_results(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(Errc::not_found, "cannot read '{}'", path);
  Results results;
  size_t line_number = 0;
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    boost::system::error_code ec;
    const json::value value = json::parse(line, ec);
    if (!ec && value.is_object() && value.get_object().contains("highest_rate")) continue;
    if (ec || !value.is_object() || !value.get_object().contains("per_second"))
      return fail(Errc::invalid_argument, "line {} of '{}' is not a result of cellar-bench --json",
                  line_number, path);
    results.push_back(value.get_object());
  }
  if (results.empty()) return fail(Errc::invalid_argument, "'{}' has no results", path);
  return results;
}

Comparison compare(const Results& a, const Results& b) {
  Comparison comparison;
  comparison.by_interval = a.size() < kEnoughResults || b.size() < kEnoughResults;
  warn(a, "A", comparison.warnings);
  warn(b, "B", comparison.warnings);
  if (!a.empty() && !b.empty()) warn_of_options(a.front(), b.front(), comparison.warnings);
  std::vector<std::string> names = {"all"};
  const auto common = operations_of(b);
  for (const std::string& name : operations_of(a))
    if (common.contains(name)) names.push_back(name);
  if (names.size() == 2) names.pop_back();  // it is all there is
  for (const std::string& name : names) {
    for (const char* figure : kFigures) {
      const auto from = sample_of(a, name, figure, comparison.by_interval);
      const auto to = sample_of(b, name, figure, comparison.by_interval);
      if (name == "all") {
        comparison.samples_a = from.size();
        comparison.samples_b = to.size();
      }
      comparison.rows.push_back({name, figure, mean(from), mean(to), ratio_of(from, to)});
    }
  }
  return comparison;
}

std::string text_of(const Comparison& comparison) {
  std::string out =
      fmt::format("{:<8} {:<10} {:>12} {:>12}   {}\n", "", "", "A", "B", "B / A, 95 % confidence");
  for (const Comparison::Row& row : comparison.rows) {
    out +=
        fmt::format("{:<8} {:<10} {:>12.1f} {:>12.1f}   ", row.operation, row.figure, row.a, row.b);
    if (row.ratio) {
      out += fmt::format("{:.3f} ({:.3f} to {:.3f}){}\n", row.ratio->ratio, row.ratio->low,
                         row.ratio->high, row.ratio->differs() ? "" : ", no difference shown");
    } else {
      out += "too few samples\n";
    }
  }
  out += fmt::format("samples: {} and {} {}\n", comparison.samples_a, comparison.samples_b,
                     comparison.by_interval
                         ? "intervals; three results or more on each side are sampled as a whole"
                         : "results");
  for (const std::string& warning : comparison.warnings) out += "warning: " + warning + "\n";
  return out;
}

json::object json_of(const Comparison& comparison) {
  json::object o;
  o["by_interval"] = comparison.by_interval;
  o["samples_a"] = comparison.samples_a;
  o["samples_b"] = comparison.samples_b;
  json::array rows;
  for (const Comparison::Row& row : comparison.rows) {
    json::object r{
        {"operation", row.operation}, {"figure", row.figure}, {"a", row.a}, {"b", row.b}};
    if (row.ratio) {
      r["ratio"] = row.ratio->ratio;
      r["low"] = row.ratio->low;
      r["high"] = row.ratio->high;
      r["differs"] = row.ratio->differs();
    }
    rows.push_back(std::move(r));
  }
  o["rows"] = std::move(rows);
  o["warnings"] = json::array(comparison.warnings.begin(), comparison.warnings.end());
  return o;
}

}  // namespace cellar::bench
