#include "bench/load/report.h"

#include <ctime>

#include <boost/json/array.hpp>

namespace cellar::bench {
namespace {

namespace json = boost::json;

constexpr double kPercentiles[] = {50, 90, 99, 99.9, 99.99};
constexpr double kCurve[] = {0,    10,   20,   30,    40,    50,    60,     70,     80,
                             85,   90,   92.5, 95,    97,    98,    99,     99.3,   99.5,
                             99.7, 99.8, 99.9, 99.95, 99.97, 99.99, 99.995, 99.999, 100};

double us(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// Three significant digits, as the histograms have.
std::string short_us(uint64_t ns) {
  const double value = us(ns);
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

void put_latencies(json::object& to, const Histogram& latency) {
  to["mean_us"] = latency.mean() / 1000;
  for (double p : kPercentiles) to[fmt::format("p{:g}_us", p)] = us(latency.percentile(p));
  to["max_us"] = us(latency.max());
}

json::array curve_of(const Histogram& latency) {
  json::array curve;
  for (double p : kCurve) curve.push_back(json::array{p, us(latency.percentile(p))});
  return curve;
}

json::object of_operation(const OperationStats& stats, Operation operation, int64_t elapsed_us) {
  json::object o;
  o["completed"] = stats.completed();
  o["failed"] = stats.failed;
  o["per_second"] = elapsed_us == 0 ? 0.0
                                    : static_cast<double>(stats.completed()) * 1e6 /
                                          static_cast<double>(elapsed_us);
  if (reads(operation)) {
    o["found"] = stats.completed() - stats.missing;
    o["missing"] = stats.missing;
    o["rows"] = stats.rows;
  }
  put_latencies(o, stats.latency);
  o["curve"] = curve_of(stats.latency);
  return o;
}

json::object of_figures(const Interval::Figures& figures, double length_s) {
  json::object o;
  o["completed"] = figures.completed;
  o["per_second"] = length_s > 0 ? static_cast<double>(figures.completed) / length_s : 0.0;
  if (figures.failed > 0) o["failed"] = figures.failed;
  o["p50_us"] = us(figures.p50_ns);
  o["p99_us"] = us(figures.p99_ns);
  o["p99.9_us"] = us(figures.p999_ns);
  o["max_us"] = us(figures.max_ns);
  return o;
}

json::array of_intervals(const LoadResult& result) {
  json::array intervals;
  for (const Interval& interval : result.intervals) {
    json::object o = of_figures(interval.all, interval.length_s);
    o["at_s"] = interval.at_s;
    o["length_s"] = interval.length_s;
    json::object operations;
    for (size_t i = 0; i < kOperations; ++i) {
      if (result.operations[i].completed() > 0)
        operations[name_of(static_cast<Operation>(i))] =
            of_figures(interval.operations[i], interval.length_s);
    }
    o["operations"] = std::move(operations);
    intervals.push_back(std::move(o));
  }
  return intervals;
}

json::object of_use(const ProcessUse& use, uint64_t completed) {
  json::object o;
  o["processor_s"] = use.cpu_s;
  o["processor_us_per_operation"] =
      completed == 0 ? 0.0 : use.cpu_s * 1e6 / static_cast<double>(completed);
  o["resident_bytes"] = use.resident_bytes;
  o["peak_resident_bytes"] = use.peak_bytes;
  return o;
}

void put_options(json::object& o, const LoadOptions& options) {
  const Workload& w = options.workload;
  o["connections"] = options.connections;
  o["depth"] = options.depth;
  o["threads"] = options.threads;
  o["rate"] = options.rate;
  o["seconds"] = static_cast<double>(options.duration_us) / 1e6;
  o["warmup_seconds"] = static_cast<double>(options.warmup_us) / 1e6;
  o["fields"] = w.fields;
  o["value_bytes"] = w.value_bytes.mean();
  o["compressible"] = w.compressible;
  o["keys"] = w.keys;
  o["read_share"] = w.read_share();
  o["seed"] = w.seed;
}

std::string text_of_operation(const OperationStats& stats, Operation operation,
                              int64_t elapsed_us) {
  std::string out = fmt::format("  {:<8} {:>11.0f} /s ", name_of(operation),
                                elapsed_us == 0 ? 0.0
                                                : static_cast<double>(stats.completed()) * 1e6 /
                                                      static_cast<double>(elapsed_us));
  for (double p : kPercentiles)
    out += fmt::format("  p{:g} {}", p, short_us(stats.latency.percentile(p)));
  out += fmt::format("  max {} us", short_us(stats.latency.max()));
  if (reads(operation))
    out += fmt::format("; {:.2f} % found a row",
                       stats.completed() == 0
                           ? 0.0
                           : 100 * (1 - static_cast<double>(stats.missing) /
                                            static_cast<double>(stats.completed())));
  return out + "\n";
}

}  // namespace

std::string text_report(const RunName& name, const LoadOptions& options, const LoadResult& result) {
  const Workload& w = options.workload;
  std::string out = fmt::format(
      "{}: {:.0f} operations/s of {} over {:.1f} s; {} connections x {} in flight, {} x {:.0f} B, "
      "{} "
      "keys",
      name.name, result.per_second(), name.server, static_cast<double>(result.elapsed_us) / 1e6,
      options.connections, options.depth, w.fields, w.value_bytes.mean(), w.keys);
  if (options.rate > 0) out += fmt::format(", open loop at {:.0f}/s", options.rate);
  out += '\n';
  for (size_t i = 0; i < kOperations; ++i) {
    if (result.operations[i].completed() > 0)
      out += text_of_operation(result.operations[i], static_cast<Operation>(i), result.elapsed_us);
  }
  if (result.has_server_use)
    out += fmt::format("  server: {:.2f} us of processor time per operation, {:.1f} MB resident\n",
                       result.server.cpu_s * 1e6 / static_cast<double>(result.completed() + 1),
                       static_cast<double>(result.server.resident_bytes) / 1e6);
  if (options.rate > 0)
    out += fmt::format("  sent after they were due: p50 {}  p99 {}  max {} us\n",
                       short_us(result.lateness.percentile(50)),
                       short_us(result.lateness.percentile(99)), short_us(result.lateness.max()));
  if (options.verify)
    out += fmt::format("  verified {} values, {} wrong{}\n", result.checked_values,
                       result.wrong_values,
                       result.first_wrong.empty() ? "" : ", first: " + result.first_wrong);
  if (result.failed() > 0) {
    out += fmt::format("  {} FAILED\n", result.failed());
    for (const auto& [message, count] : result.errors)
      out += fmt::format("    {} x {}\n", count, message);
  }
  if (const std::string reason = result.invalid_reason(options); !reason.empty())
    out += fmt::format("  INVALID: {}\n", reason);
  return out;
}

json::object json_report(const RunName& name, const LoadOptions& options,
                         const LoadResult& result) {
  json::object o;
  const std::string reason = result.invalid_reason(options);
  o["name"] = name.name;
  o["server"] = name.server;
  o["workload"] = name.workload;
  o["valid"] = reason.empty();
  if (!reason.empty()) o["invalid_reason"] = reason;
  o["per_second"] = result.per_second();
  put_latencies(o, all_latencies(result.operations));
  o["completed"] = result.completed();
  o["failed"] = result.failed();
  o["missing"] = result.missing();
  o["elapsed_us"] = result.elapsed_us;
  o["started_s"] = result.started_s;
  o["late_sends"] = result.late_sends;
  o["late_p99_us"] = us(result.lateness.percentile(99));
  put_options(o, options);
  if (options.verify) {
    o["verified"] = result.checked_values;
    o["wrong"] = result.wrong_values;
    if (!result.first_wrong.empty()) o["first_wrong"] = result.first_wrong;
  }
  if (!result.first_error.empty()) o["first_error"] = result.first_error;
  json::object errors;
  for (const auto& [message, count] : result.errors) errors[message] = count;
  if (!errors.empty()) o["errors"] = std::move(errors);
  if (result.has_server_use) o["server_process"] = of_use(result.server, result.completed());
  o["generator_process"] = of_use(result.generator, result.completed());
  json::object operations;
  for (size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (result.operations[i].completed() + result.operations[i].failed > 0)
      operations[name_of(operation)] =
          of_operation(result.operations[i], operation, result.elapsed_us);
  }
  o["operations"] = std::move(operations);
  o["intervals"] = of_intervals(result);
  return o;
}

std::string csv_report(const LoadResult& result) {
  std::string out =
      "at_s,length_s,operation,completed,failed,per_second,p50_us,p99_us,p99.9_us,max_us\n";
  for (const Interval& interval : result.intervals) {
    for (size_t i = 0; i < kOperations; ++i) {
      const Interval::Figures& f = interval.operations[i];
      if (f.completed + f.failed == 0) continue;
      out +=
          fmt::format("{:.3f},{:.3f},{},{},{},{:.1f},{:.3f},{:.3f},{:.3f},{:.3f}\n", interval.at_s,
                      interval.length_s, name_of(static_cast<Operation>(i)), f.completed, f.failed,
                      static_cast<double>(f.completed) / std::max(interval.length_s, 1e-9),
                      us(f.p50_ns), us(f.p99_ns), us(f.p999_ns), us(f.max_ns));
    }
  }
  return out;
}

std::string histogram_log(const LoadResult& result) {
  const auto started = static_cast<std::time_t>(result.started_s);
  char date[64] = "";
  std::tm utc{};
  std::strftime(date, sizeof date, "%a %b %d %H:%M:%S UTC %Y", gmtime_r(&started, &utc));
  std::string out = fmt::format(
      "#[Histogram log format version 1.3]\n"
      "#[StartTime: {:.3f} (seconds since epoch), {}]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      result.started_s, date);
  for (const Interval& interval : result.intervals) {
    for (size_t i = 0; i < kOperations; ++i) {
      const Interval::Figures& f = interval.operations[i];
      if (f.encoded.empty()) continue;
      out += fmt::format("Tag={},{:.3f},{:.3f},{:.3f},{}\n", name_of(static_cast<Operation>(i)),
                         interval.at_s, interval.length_s, static_cast<double>(f.max_ns) / 1e6,
                         f.encoded);
    }
  }
  return out;
}

std::string progress_line(const std::string& name, const Progress& progress) {
  std::string out = fmt::format("{}: ", name);
  out += progress.elapsed_s < 0 ? fmt::format("warm-up {:.0f} s", -progress.elapsed_s)
                                : fmt::format("{:.0f} s", progress.elapsed_s);
  out += fmt::format(", {} operations", progress.completed);
  if (progress.has_interval) {
    const Interval& i = progress.interval;
    out += fmt::format(", {:.0f}/s, p50 {} p99 {} max {} us",
                       static_cast<double>(i.all.completed) / std::max(i.length_s, 1e-9),
                       short_us(i.all.p50_ns), short_us(i.all.p99_ns), short_us(i.all.max_ns));
    if (i.all.failed > 0) out += fmt::format(", {} failed", i.all.failed);
  }
  return out;
}

}  // namespace cellar::bench
