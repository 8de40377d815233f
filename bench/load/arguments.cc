#include "bench/load/arguments.h"

#include <fmt/format.h>

#include <cstdlib>

namespace cellar::bench {
namespace {

std::string from_environment(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

void declare_server(CLI::App& app, Arguments& a) {
  a.load.address = from_environment("CELLAR_ADDR", "127.0.0.1:7420");
  app.add_option("--addr", a.load.address,
                 "HOST:PORT of the server (default: CELLAR_ADDR, else 127.0.0.1:7420)");
  app.add_option("--server", a.server,
                 "Kind of the server: cellar, redis, memcached or echo (cellar-bench-echo)")
      ->check(CLI::IsMember({"cellar", "redis", "memcached", "echo"}))
      ->capture_default_str();
  app.add_option(
         "--server-pid", a.load.server_pid,
         "Process of a server on this machine, whose processor time and memory are measured")
      ->check(CLI::PositiveNumber);
  auto& tls = a.load.client.tls;
  tls.ca = from_environment("CELLAR_CA");
  tls.certificate = from_environment("CELLAR_CERT");
  tls.key = from_environment("CELLAR_KEY");
  tls.server_name = from_environment("CELLAR_SERVER_NAME");
  a.load.client.token_file = from_environment("CELLAR_TOKEN_FILE");
  tls.enabled = from_environment("CELLAR_TLS") == "1";
  app.add_flag("--tls", tls.enabled, "Use TLS; implied by --ca and --cert (CELLAR_TLS=1)");
  app.add_option("--ca", tls.ca, "Authorities that may sign the node's certificate (CELLAR_CA)");
  app.add_option("--cert", tls.certificate, "The client's certificate (CELLAR_CERT)");
  app.add_option("--key", tls.key, "The key of the client's certificate (CELLAR_KEY)");
  app.add_option("--server-name", tls.server_name,
                 "Name in the node's certificate (CELLAR_SERVER_NAME)");
  app.add_option("--token-file", a.load.client.token_file, "File with a token (CELLAR_TOKEN_FILE)");
}

void declare_table(CLI::App& app, Arguments& a) {
  app.add_option("--table", a.table,
                 "Table to use, by name on every connection; family f; created if absent")
      ->capture_default_str();
  app.add_option("--tablets", a.tablets,
                 "Tablets of a created table, with equal shares of the keys of form keyN")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--versions", a.versions, "Versions that a created table keeps; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--durability", a.durability,
                 "Level of a created table: sync (default), periodic or memory")
      ->check(CLI::IsMember({"sync", "periodic", "memory"}));
  app.add_option("--route", a.route,
                 "Keys of a connection: any, direct (served by the shard that its hello names), "
                 "forwarded (by others)")
      ->check(CLI::IsMember({"any", "direct", "forwarded"}))
      ->capture_default_str();
  app.add_option(
      "--route-hint", a.route_hint,
      "Text from which a proxy chooses the node; all connections send the same. Default: "
      "the name of the table");
}

std::string list_of_workloads() {
  std::string text = "Operations, keys and values:";
  for (const NamedWorkload& w : named_workloads())
    text += fmt::format("\n{}: {}", w.name, w.summary);
  return text + "\nThe options below replace single parts.";
}

void declare_workload(CLI::App& app, Arguments& a) {
  std::vector<std::string> names;
  for (const NamedWorkload& w : named_workloads()) names.emplace_back(w.name);
  app.add_option("--workload", a.workload, list_of_workloads())
      ->check(CLI::IsMember(names))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option(
      "--shares", a.shares,
      "Weights of operations, as in read=50,update=30,insert=10,scan=5,modify=5,delete=0");
  app.add_option("--read-share", a.read_share, "Share of reads, 0 to 1; the rest are updates")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--keys", a.load.workload.keys, "Rows that the load phase writes")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000'000}))
      ->capture_default_str();
  app.add_option(
         "--distribution", a.distribution,
         "Keys of operations other than inserts: uniform, zipf (scrambled), latest, hotspot "
         "or sequential (one sequence for all connections)")
      ->check(CLI::IsMember({"uniform", "zipf", "latest", "hotspot", "sequential"}));
  app.add_option("--theta", a.theta, "Constant of zipf and latest (default: 0.99)")
      ->check(CLI::Range(0.01, 0.999));
  app.add_option("--hot-set", a.hot_set, "hotspot: share of the keys that is hot (default: 0.2)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--hot-share", a.hot_share,
                 "hotspot: share of the operations on hot keys (default: 0.8)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--owners", a.owners,
                 "timeseries, clicks: series or users (default: a hundredth of the keys)");
  app.add_option("--fields", a.fields, "Fields of a row (default: 1; ycsb: 10)")
      ->check(CLI::Range(1, 1000));
  app.add_flag(
      "--name-columns", a.name_columns,
      "Cellar: point reads name the columns of their row; otherwise they ask for whole rows");
  app.add_option(
      "--value-bytes", a.value_bytes,
      "Bytes of a field: 100, a range 10-1000, or a mix with weights 64:50,1K:40,64K:10");
  app.add_option("--ttl", a.life,
                 "Life of written cells: none, 30m, or a mix 1h:70,1d:20,none:10 (ms, s, m, h, d)");
  app.add_option("--scan-rows", a.scan_rows, "A scan asks for 1 to so many rows (default: 100)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--compressible", a.compressible,
                 "Share of its size to which a value compresses; 1: not at all (default: 0.5)")
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--seed", a.load.workload.seed, "Seed of keys, mix and values")
      ->capture_default_str();
}

void declare_run(CLI::App& app, Arguments& a) {
  app.add_option("--phase", a.phase,
                 "load (inserts every row once), run, or both. The load phase is reported apart")
      ->check(CLI::IsMember({"load", "run", "both"}))
      ->capture_default_str();
  app.add_option("--connections", a.load.connections, "Connections")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--depth", a.load.depth,
                 "Requests in flight per connection (closed loop); requests that may leave in one "
                 "write if several are due (open loop)")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--threads", a.load.threads, "Generator threads")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--sockets",
         [&a](const std::string& name) { a.load.sockets = parse_socket_backend(name).value(); },
         "What waits for answers: auto (io_uring, if the kernel permits it), io_uring or epoll")
      ->check(CLI::IsMember({"auto", "io_uring", "epoll"}))
      ->type_name("NAME")
      ->default_str(std::string(socket_backend_name(a.load.sockets)));
  app.add_option("--rate", a.load.rate,
                 "Requests a second in all, due on a fixed schedule (open loop); 0: closed loop")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--rates", a.rates,
                 "A run at each of these rates: 10000,20000, or shares of the closed loop 50%,80%");
  app.add_option("--find-rate", a.find_rate,
                 "Search the highest rate under a latency bound: p99=1000 (us) or p99.9=2ms");
  app.add_option(
         "--max-late-us", a.load.max_late_us,
         "Open loop: the run is invalid if more than 1 % of the measured requests left later "
         "than this because of the generator")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "Duration of the measurement")
      ->check(CLI::Range(0.001, 1e7))
      ->capture_default_str();
  app.add_option("--warmup", a.warmup_seconds, "Seconds before measuring")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--operations", a.load.operations,
                 "Stop after this many operations after the warm-up; 0: by time")
      ->capture_default_str();
  app.add_flag(
      "--verify", a.load.verify,
      "Check that the values that are read were written to their rows by cellar-bench with "
      "the same --compressible");
}

void declare_output(CLI::App& app, Arguments& a) {
  app.add_option("--name", a.name, "Name of the run in the report (default: the workload)");
  app.add_option("--interval", a.interval_seconds,
                 "Seconds of an interval of the timeline (default: 1, or a tenth of a shorter run)")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_flag("--json", a.json, "One JSON object per run instead of text");
  app.add_option("--html", a.html, "Write a report with plots to this file");
  app.add_option("--csv", a.csv, "Write the intervals of the last run to this file");
  app.add_option("--hlog", a.histograms,
                 "Write the intervals of the last run to this file as a log of HdrHistogram");
}

Result<void> settle_workload(Arguments& a) {
  Workload w = find_workload(a.workload)->workload;
  w.keys = a.load.workload.keys;
  w.seed = a.load.workload.seed;
  if (a.shares && a.read_share)
    return fail(Errc::invalid_argument, "--shares and --read-share exclude each other");
  if (a.shares) {
    TRY(w.shares, parse_shares(*a.shares));
  }
  if (a.read_share) w.shares = {*a.read_share, 1 - *a.read_share, 0, 0, 0, 0};
  if (a.distribution)
    w.distribution = *a.distribution == "zipf"         ? Distribution::zipf
                     : *a.distribution == "latest"     ? Distribution::latest
                     : *a.distribution == "hotspot"    ? Distribution::hotspot
                     : *a.distribution == "sequential" ? Distribution::sequential
                                                       : Distribution::uniform;
  if (a.value_bytes) {
    TRY(w.value_bytes, Mix::parse_sizes(*a.value_bytes));
  }
  if (a.life) {
    TRY(w.life_us, Mix::parse_lives(*a.life));
  }
  w.fields = a.fields.value_or(w.fields);
  w.scan_rows = a.scan_rows.value_or(w.scan_rows);
  w.owners = a.owners.value_or(w.owners);
  w.compressible = a.compressible.value_or(w.compressible);
  w.theta = a.theta.value_or(w.theta);
  w.hot_set = a.hot_set.value_or(w.hot_set);
  w.hot_share = a.hot_share.value_or(w.hot_share);
  w.whole_rows = a.server == "memcached";
  if (a.load.operations > 0)
    w.expected_inserts = static_cast<uint64_t>(static_cast<double>(a.load.operations) *
                                               w.share(Operation::insert) * 2);
  a.load.workload = w;
  a.load.first_insert = w.keys;
  return {};
}

}  // namespace

Commands declare(CLI::App& app, Arguments& a) {
  app.get_formatter()->column_width(34);
  declare_server(app, a);
  declare_table(app, a);
  declare_workload(app, a);
  declare_run(app, a);
  declare_output(app, a);
  app.require_subcommand(0, 1);
  Commands commands;
  commands.compare =
      app.add_subcommand("compare", "Compare two results, with confidence intervals");
  commands.compare->add_option("a", a.result_a, "File with results of --json, one per line")
      ->required();
  commands.compare->add_option("b", a.result_b, "The same, to be compared with it")->required();
  commands.compare->add_flag("--json", a.json, "One JSON object instead of text");
  commands.report = app.add_subcommand("report", "Make a report with plots from results");
  commands.report->add_option("results", a.results, "Files with results of --json")->required();
  commands.report->add_option("--html", a.html, "The file to write")->required();
  app.footer(
      "Latency counts from the time when a request was due (open loop) or sent (closed loop).\n"
      "An open loop polls the clock: give every generator thread a processor of its own.\n"
      "Examples:\n"
      "  cellar-bench --workload write --connections 50 --seconds 10\n"
      "  cellar-bench --workload ycsb-b --phase both --keys 100000 --html report.html\n"
      "  cellar-bench --workload read --keys 100000 --rates 20%,40%,60%,80% --html sweep.html\n"
      "  cellar-bench --workload read --keys 100000 --find-rate p99=1ms\n"
      "  cellar-bench compare before.json after.json\n"
      "Exit codes: 0 ok, 1 could not run, 2 usage, 7 some requests failed or values were wrong, "
      "8 the run is invalid.");
  return commands;
}

Result<void> settle(Arguments& a) {
  a.load.client.address = a.load.address;
  auto& tls = a.load.client.tls;
  tls.enabled = tls.enabled || !tls.ca.empty() || !tls.certificate.empty();
  a.load.client.routing_hint = client::hint_of(a.route_hint.empty() ? a.table : a.route_hint);
  a.load.client.client_name = "cellar-bench";
  a.load.duration_us = static_cast<int64_t>(a.seconds * 1e6);
  a.load.warmup_us = static_cast<int64_t>(a.warmup_seconds * 1e6);
  const double interval_s =
      a.interval_seconds > 0 ? a.interval_seconds : std::clamp(a.seconds / 10, 0.05, 1.0);
  a.load.interval_us = static_cast<int64_t>(interval_s * 1e6);
  a.load.threads = std::min(a.load.threads, a.load.connections);
  a.load.encodes = !a.histograms.empty();
  TRY_VOID(settle_workload(a));
  if (!a.rates.empty()) {
    TRY(a.sweep, parse_rates(a.rates));
  }
  if (!a.find_rate.empty()) {
    TRY(a.goal, parse_goal(a.find_rate));
  }
  if ((a.load.rate > 0) + !a.sweep.empty() + a.goal.has_value() > 1)
    return fail(Errc::invalid_argument, "--rate, --rates and --find-rate exclude each other");
  if ((!a.sweep.empty() || a.goal) && a.load.operations > 0)
    return fail(Errc::invalid_argument, "--rates and --find-rate go by --seconds");
  if (a.phase == "load" && (a.goal || !a.sweep.empty() || a.load.rate > 0))
    return fail(Errc::invalid_argument, "a load phase has no rate");
  if (a.name.empty()) a.name = a.workload;
  return {};
}

}  // namespace cellar::bench
