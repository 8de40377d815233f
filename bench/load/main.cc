// cellar-bench: the load generator.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

#include "bench/load/report.h"
#include "net/client/connections/dialler.h"
#include "net/client/connections/tablet_map.h"
#include "net/client/sync_client.h"

namespace {

using namespace cellar::bench;

struct Arguments {
  LoadOptions load;
  std::string server = "cellar";
  std::string workload = "write";
  std::string distribution = "uniform";
  std::string table = "bench";
  std::string name;
  std::string route = "any";
  uint32_t tablets = 1;
  double seconds = 10;
  double warmup_seconds = 0;
  bool json = false;
};

void declare(CLI::App& app, Arguments& a) {
  const char* addr = std::getenv("CELLAR_ADDR");
  a.load.address = addr != nullptr ? addr : "127.0.0.1:7420";
  app.add_option("--addr", a.load.address,
                 "HOST:PORT of the server (default: CELLAR_ADDR, else 127.0.0.1:7420)");
  const auto from = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  auto& tls = a.load.client.tls;
  tls.ca = from("CELLAR_CA");
  tls.certificate = from("CELLAR_CERT");
  tls.key = from("CELLAR_KEY");
  tls.server_name = from("CELLAR_SERVER_NAME");
  a.load.client.token_file = from("CELLAR_TOKEN_FILE");
  tls.enabled = from("CELLAR_TLS") == "1";
  app.add_flag("--tls", tls.enabled, "Use TLS; implied by --ca and --cert (CELLAR_TLS=1)");
  app.add_option("--ca", tls.ca, "Authorities that may sign the node's certificate (CELLAR_CA)");
  app.add_option("--cert", tls.certificate, "The client's certificate (CELLAR_CERT)");
  app.add_option("--key", tls.key, "The key of the client's certificate (CELLAR_KEY)");
  app.add_option("--server-name", tls.server_name,
                 "Name in the node's certificate (CELLAR_SERVER_NAME)");
  app.add_option("--token-file", a.load.client.token_file, "File with a token (CELLAR_TOKEN_FILE)");
  app.add_option("--server", a.server, "Kind of the server: cellar or redis")
      ->check(CLI::IsMember({"cellar", "redis"}))
      ->capture_default_str();
  app.add_option("--workload", a.workload, "write, read, or mixed (half and half)")
      ->check(CLI::IsMember({"write", "read", "mixed"}))
      ->capture_default_str();
  app.add_option("--table", a.table,
                 "Table to use; family f, qualifier q; created if absent (cellar)")
      ->capture_default_str();
  app.add_option("--tablets", a.tablets,
                 "Tablets of a created table, with equal shares of the keys")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--route", a.route,
         "Keys of a connection: any, direct (served by its own shard), forwarded (by others)")
      ->check(CLI::IsMember({"any", "direct", "forwarded"}))
      ->capture_default_str();
  app.add_option("--connections", a.load.connections, "Connections")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--depth", a.load.depth, "Requests in flight per connection (closed loop)")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--threads", a.load.threads, "Generator threads")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--rate", a.load.rate,
                 "Requests a second in all, due on a fixed schedule (open loop); 0: closed loop")
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "Duration of the measurement")->capture_default_str();
  app.add_option("--warmup", a.warmup_seconds, "Seconds before measuring")->capture_default_str();
  app.add_option("--operations", a.load.operations, "Stop after this many operations; 0: by time")
      ->capture_default_str();
  app.add_option("--keys", a.load.workload.keys, "Number of distinct keys")->capture_default_str();
  app.add_option("--value-bytes", a.load.workload.value_bytes, "Bytes of a value")
      ->capture_default_str();
  app.add_option("--distribution", a.distribution, "uniform, zipf (0.99, scrambled) or sequential")
      ->check(CLI::IsMember({"uniform", "zipf", "sequential"}))
      ->capture_default_str();
  app.add_option("--seed", a.load.workload.seed, "Seed of keys and mix")->capture_default_str();
  app.add_option("--name", a.name, "Name of the run in the report (default: the workload)");
  app.add_flag("--json", a.json, "One JSON object instead of text");
  app.footer(
      "Latency counts from the time when a request was due (open loop) or sent (closed loop).\n"
      "Example: cellar-bench --workload write --connections 50 --seconds 10\n"
      "Exit codes: 0 ok, 1 could not run, 2 usage, 7 some requests failed.");
}

void settle(Arguments& a) {
  a.load.client.address = a.load.address;
  auto& tls = a.load.client.tls;
  tls.enabled = tls.enabled || !tls.ca.empty() || !tls.certificate.empty();
  a.load.duration_us = static_cast<int64_t>(a.seconds * 1e6);
  a.load.warmup_us = static_cast<int64_t>(a.warmup_seconds * 1e6);
  a.load.workload.read_share = a.workload == "read" ? 1 : a.workload == "mixed" ? 0.5 : 0;
  a.load.workload.distribution = a.distribution == "zipf"         ? Distribution::zipf
                                 : a.distribution == "sequential" ? Distribution::sequential
                                                                  : Distribution::uniform;
  a.load.threads = std::min(a.load.threads, a.load.connections);
  if (a.name.empty()) a.name = a.workload;
}

// The table, which is created if it is absent.
cellar::Result<cellar::client::TableDescription> ensure_table(const Arguments& a) {
  const std::string& name = a.table;
  cellar::client::SyncClient client(a.load.client);
  cellar::client::TableSpec spec;
  spec.name = name;
  spec.families.resize(1);
  spec.families[0].name = "f";
  for (uint32_t i = 1; i < a.tablets; ++i) {
    spec.splits.push_back(key_name(a.load.workload.keys * i / a.tablets));
  }
  const auto made = client.create_table(spec);
  if (!made && made.error().code != cellar::Errc::already_exists)
    return std::unexpected(made.error());
  return client.describe_table(name);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Loads a Cellar node (or redis, for comparison) and reports throughput and latency.",
               "cellar-bench");
  declare(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  settle(a);

  const bool tty = isatty(STDERR_FILENO) != 0;
  const auto progress = [&](uint64_t done) {
    if (tty)
      std::fprintf(stderr, "\r%s: %llu operations", a.name.c_str(),
                   static_cast<unsigned long long>(done));
  };
  uint64_t table_id = 0;
  cellar::client::TabletMap map;
  if (a.server == "cellar") {
    const auto table = ensure_table(a);
    if (!table) {
      std::fprintf(stderr, "cellar-bench: %s\n", table.error().to_string().c_str());
      return 1;
    }
    table_id = table->table_id;
    map.assign(table->tablets);
  }
  const Route route = a.route == "direct"      ? Route::direct
                      : a.route == "forwarded" ? Route::forwarded
                                               : Route::any;
  const ShardOf shard_of = [&map](cellar::Bytes key) { return map.locate(key).shard; };
  std::string token;
  if (!a.load.client.token_file.empty()) {
    auto read = cellar::client::read_token_file(a.load.client.token_file);
    if (!read) {
      std::fprintf(stderr, "cellar-bench: %s\n", read.error().to_string().c_str());
      return 1;
    }
    token = std::move(*read);
  }
  const auto make = [&]() -> std::unique_ptr<Protocol> {
    return a.server == "redis" ? make_redis_protocol()
                               : make_cellar_protocol(table_id, route, shard_of, token);
  };
  const auto result = run_load(a.load, make, progress);
  if (tty) std::fprintf(stderr, "\r\033[K");
  if (!result) {
    std::fprintf(stderr, "cellar-bench: %s\n", result.error().to_string().c_str());
    return 1;
  }
  const std::string text =
      a.json ? json_report(a.name, a.load, *result) : text_report(a.name, a.load, *result);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return result->failed == 0 ? 0 : 7;
}
