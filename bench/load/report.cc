#include "bench/load/report.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace cellar::bench {
namespace {

constexpr double kPercentiles[] = {50, 90, 99, 99.9, 99.99};

}  // namespace

std::string text_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result) {
  std::string out =
      fmt::format("{:<14} {:>10.0f} /s   {} connections x {} in flight, {} B values, {} keys", name,
                  result.per_second(), options.connections, options.depth,
                  options.workload.value_bytes, options.workload.keys);
  if (options.rate > 0) out += fmt::format(", open loop at {:.0f}/s", options.rate);
  out += "\n              ";
  for (double p : kPercentiles)
    out += fmt::format(" p{:g} {} us  ", p, result.latency_us.percentile(p));
  out += fmt::format(" max {} us\n", result.latency_us.max());
  if (result.failed > 0)
    out += fmt::format("               {} FAILED, first: {}\n", result.failed, result.first_error);
  if (result.late_sends * 100 > result.completed) {
    out += fmt::format("               INVALID: the generator itself sent {} requests late\n",
                       result.late_sends);
  }
  return out;
}

std::string json_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result) {
  boost::json::object object;
  object["name"] = name;
  object["per_second"] = result.per_second();
  object["completed"] = result.completed;
  object["failed"] = result.failed;
  object["late_sends"] = result.late_sends;
  object["elapsed_us"] = result.elapsed_us;
  object["connections"] = options.connections;
  object["depth"] = options.depth;
  object["rate"] = options.rate;
  object["value_bytes"] = options.workload.value_bytes;
  object["keys"] = options.workload.keys;
  object["read_share"] = options.workload.read_share;
  object["seed"] = options.workload.seed;
  for (double p : kPercentiles)
    object[fmt::format("p{:g}_us", p)] = result.latency_us.percentile(p);
  object["max_us"] = result.latency_us.max();
  if (!result.first_error.empty()) object["first_error"] = result.first_error;
  return boost::json::serialize(object) + "\n";
}

}  // namespace cellar::bench
