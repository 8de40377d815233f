// cellar-bench: the load generator.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <set>
#include <vector>

#include <boost/json/serialize.hpp>

#include "bench/load/arguments.h"
#include "bench/load/compare.h"
#include "bench/load/html_report.h"
#include "bench/load/report.h"
#include "net/client/connections/dialler.h"
#include "net/client/connections/tablet_map.h"
#include "net/client/sync_client.h"

namespace {

using namespace cellar::bench;
using cellar::Result;

enum ExitCode { kOk = 0, kCouldNotRun = 1, kUsage = 2, kFailures = 7, kInvalid = 8 };

int complain(const cellar::Error& error, ExitCode code = kCouldNotRun) {
  std::fprintf(stderr, "cellar-bench: %s\n", error.to_string().c_str());
  return code;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return cellar::fail(cellar::Errc::unavailable, "cannot write '{}'", path);
  return {};
}

// The table, which is created if it is absent.
Result<cellar::client::TableDescription> ensure_table(const Arguments& a) {
  namespace client = cellar::client;
  client::SyncClient sync(a.load.client);
  client::TableSpec spec;
  spec.name = a.table;
  spec.families.resize(1);
  spec.families[0].name = "f";
  if (a.versions > 0) {
    spec.families[0].rule_given = true;
    spec.families[0].rule = client::RetentionRule::max_versions(a.versions);
  }
  if (!a.durability.empty())
    spec.options.durability = a.durability == "memory"     ? cellar::Durability::memory
                              : a.durability == "periodic" ? cellar::Durability::periodic
                                                           : cellar::Durability::sync;
  const Workload plain{.keys = a.load.workload.keys};
  const KeySpace keys(plain, 0);
  for (uint32_t i = 1; i < a.tablets; ++i)
    keys.name_row(a.load.workload.keys * i / a.tablets, spec.splits.emplace_back());
  const auto made = sync.create_table(spec);
  if (!made && made.error().code != cellar::Errc::already_exists)
    return std::unexpected(made.error());
  return sync.describe_table(a.table);
}

// The runs of one invocation, and what they need.
class Session {
 public:
  explicit Session(Arguments& arguments) : a_(arguments) {}

  // Creates the table of a Cellar node.
  Result<void> prepare() {
    if (a_.server != "cellar") return {};
    TRY(const auto table, ensure_table(a_));
    std::set<uint32_t> shards;
    for (const auto& tablet : table.tablets) shards.insert(tablet.shard);
    shards_.assign(shards.begin(), shards.end());
    map_.assign(table.tablets);
    target_.table = a_.table;
    target_.routing_hint = a_.load.client.routing_hint;
    target_.route = a_.route == "direct"      ? Route::direct
                    : a_.route == "forwarded" ? Route::forwarded
                                              : Route::any;
    target_.shard_of = [this](cellar::Bytes key) { return map_.locate(key).shard; };
    target_.wants_values = a_.load.verify;
    const uint32_t fields = a_.name_columns ? a_.load.workload.fields : 0;
    for (uint32_t i = 0; i < fields; ++i) target_.columns.push_back(field_name(i, fields));
    if (a_.load.client.token_file.empty()) return {};
    TRY(target_.token, cellar::client::read_token_file(a_.load.client.token_file));
    return {};
  }

  Result<void> go() {
    if (a_.phase != "run") TRY_VOID(load());
    if (a_.phase == "load") return finish();
    if (a_.goal) {
      TRY_VOID(search());
    } else if (!a_.sweep.empty()) {
      TRY_VOID(sweep());
    } else {
      TRY_VOID(run(a_.load, a_.name));
    }
    return finish();
  }
  ExitCode exit_code() const {
    if (some_failed_) return kFailures;
    return some_invalid_ ? kInvalid : kOk;
  }

 private:
  std::unique_ptr<Protocol> make_protocol(const LoadOptions& options) const {
    if (a_.server == "redis") return make_redis_protocol(options.workload.fields, options.verify);
    if (a_.server == "memcached")
      return make_memcached_protocol(options.workload.fields, options.verify);
    if (a_.server == "echo") return make_echo_protocol(options.workload);
    CellarTarget target = target_;
    // Every shard has as many connections as the others, if it has a tablet.
    if (target.route == Route::direct) target.shard = shards_[connections_++ % shards_.size()];
    return make_cellar_protocol(std::move(target));
  }

  Result<LoadResult> measure(const LoadOptions& options, const std::string& name) {
    const bool tty = isatty(STDERR_FILENO) != 0;
    const auto progress = [&](const Progress& p) {
      std::fprintf(stderr, "\r\033[K%s", progress_line(name, p).c_str());
      std::fflush(stderr);
    };
    auto result = run_load(
        options, [&] { return make_protocol(options); },
        tty ? progress : std::function<void(const Progress&)>());
    if (tty) std::fprintf(stderr, "\r\033[K");
    return result;
  }
  void publish(const LoadOptions& options, const std::string& name, const LoadResult& result) {
    const RunName run_name{name, a_.server, a_.workload};
    results_.push_back(json_report(run_name, options, result));
    const std::string text = a_.json ? boost::json::serialize(results_.back()) + "\n"
                                     : text_report(run_name, options, result);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    some_failed_ = some_failed_ || result.failed() > 0 || result.wrong_values > 0;
    some_invalid_ = some_invalid_ || !result.invalid_reason(options).empty();
    last_ = result;
  }
  Result<void> run(const LoadOptions& options, const std::string& name) {
    TRY(const LoadResult result, measure(options, name));
    publish(options, name, result);
    return {};
  }

  Result<void> load() {
    LoadOptions options = a_.load;
    options.workload = load_phase_of(options.workload);
    options.operations = options.workload.keys;
    options.first_insert = 0;
    options.warmup_us = 0;
    options.rate = 0;
    options.verify = false;
    return run(options, "load");
  }

  LoadOptions at_rate(double rate) const {
    LoadOptions options = a_.load;
    options.rate = rate;
    return options;
  }
  Result<void> sweep() {
    double closed_loop = 0;
    for (const SweepRate& step : a_.sweep) {
      if (!step.is_share || closed_loop > 0) continue;
      TRY_VOID(run(a_.load, a_.name + " closed loop"));
      closed_loop = last_.per_second();
    }
    for (const SweepRate& step : a_.sweep) {
      const double rate = step.is_share ? step.value * closed_loop : step.value;
      TRY_VOID(run(at_rate(rate), fmt::format("{} {:.0f}/s", a_.name, rate)));
    }
    return {};
  }
  // Steps that do not reach the goal, for any reason, do not make the search a failure.
  Result<void> search() {
    constexpr double kPrecision = 0.05;
    TRY_VOID(run(a_.load, a_.name + " closed loop"));
    TRY(const double rate,
        highest_rate(last_.per_second(), kPrecision, [&](double r) -> Result<bool> {
          const LoadOptions options = at_rate(r);
          TRY(const LoadResult result, measure(options, fmt::format("{} {:.0f}/s", a_.name, r)));
          const bool good = meets(*a_.goal, options, result);
          note_step(options, result, good);
          return good;
        }));
    if (a_.json) {
      const boost::json::object found{{"highest_rate", rate},
                                      {"percentile", a_.goal->percentile},
                                      {"bound_us", a_.goal->bound_us}};
      std::printf("%s\n", boost::json::serialize(found).c_str());
    } else {
      std::printf("highest rate with p%g of at most %lld us: %.0f /s\n", a_.goal->percentile,
                  static_cast<long long>(a_.goal->bound_us), rate);
    }
    return {};
  }
  void note_step(const LoadOptions& options, const LoadResult& result, bool good) {
    const std::string name = fmt::format("{} {:.0f}/s", a_.name, options.rate);
    results_.push_back(json_report({name, a_.server, a_.workload}, options, result));
    last_ = result;
    const auto latencies = all_latencies(result.operations);
    const std::string reason = result.invalid_reason(options);
    const std::string text = fmt::format(
        "{:>10.0f} /s: {:>10.0f} completed/s, p{:g} {} us, {}{}\n", options.rate,
        result.per_second(), a_.goal->percentile, latencies.percentile(a_.goal->percentile) / 1000,
        good ? "sustained" : "not sustained", reason.empty() ? "" : ": " + reason);
    std::fputs(a_.json ? (boost::json::serialize(results_.back()) + "\n").c_str() : text.c_str(),
               stdout);
    std::fflush(stdout);
  }

  Result<void> finish() {
    if (!a_.html.empty()) TRY_VOID(write_file(a_.html, html_report(results_)));
    if (!a_.csv.empty()) TRY_VOID(write_file(a_.csv, csv_report(last_)));
    if (!a_.histograms.empty()) TRY_VOID(write_file(a_.histograms, histogram_log(last_)));
    return {};
  }

  Arguments& a_;
  cellar::client::TabletMap map_;
  std::vector<uint32_t> shards_;  // with a tablet of the table
  mutable std::atomic<size_t> connections_ = 0;
  CellarTarget target_;
  std::vector<boost::json::object> results_;
  LoadResult last_;
  bool some_failed_ = false;
  bool some_invalid_ = false;
};

int compare_files(const Arguments& a) {
  const auto from = read_results(a.result_a);
  if (!from) return complain(from.error());
  const auto to = read_results(a.result_b);
  if (!to) return complain(to.error());
  const Comparison comparison = compare(*from, *to);
  const std::string text =
      a.json ? boost::json::serialize(json_of(comparison)) + "\n" : text_of(comparison);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kOk;
}

int report_files(const Arguments& a) {
  std::vector<boost::json::object> results;
  for (const std::string& path : a.results) {
    const auto read = read_results(path);
    if (!read) return complain(read.error());
    results.insert(results.end(), read->begin(), read->end());
  }
  const auto written = write_file(a.html, html_report(results));
  return written ? kOk : complain(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "Loads a Cellar node, redis, memcached or a bare echo, and measures rates and latencies.",
      "cellar-bench");
  const Commands commands = declare(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  if (commands.compare->parsed()) return compare_files(a);
  if (commands.report->parsed()) return report_files(a);
  if (const auto settled = settle(a); !settled) return complain(settled.error(), kUsage);
  Session session(a);
  auto done = session.prepare();
  if (done) done = session.go();
  return done ? session.exit_code() : complain(done.error());
}
