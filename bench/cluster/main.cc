// cellar-bench-cluster: what a Ceph cluster and etcd give to a node: guarded appends over lanes,
// pieces of blobs, a fence, and the stall that a fault makes. Each figure is the median of the
// rounds, which alternate the cases, with the lowest and the highest.
//
// It needs a cluster: `deploy/cluster-up` makes one on this machine, and the program runs in its
// namespace of clients (bench/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include <CLI/CLI.hpp>

#include "bench/cluster/appends.h"
#include "bench/cluster/etcd_figures.h"
#include "bench/cluster/pieces.h"
#include "io/base/log.h"

namespace cellar::bench {
namespace {

struct Options {
  ClusterOptions cluster;
  std::string etcd;  // endpoints, HOST:PORT, by commas
  std::string only;  // parts by commas; empty: all
  double seconds = 2;
  int rounds = 3;
  int pieces = 24;
  std::string fault;
  double fault_seconds = 30;
  bool json = false;
};

// The figures of one case, a value a round each.
struct Case {
  std::string part;
  std::string name;
  std::vector<std::pair<std::string, std::vector<double>>> figures;

  void add(const std::string& figure, double value) {
    for (auto& [have, values] : figures) {
      if (have == figure) return values.push_back(value);
    }
    figures.push_back({figure, {value}});
  }
};

class Program {
 public:
  explicit Program(const Options& options) : options_(options) {}

  void run() {
    for (int round = 0; round < options_.rounds; ++round) {
      if (wants("appends")) appends();
      if (wants("writers")) writers();
      if (wants("pieces")) pieces();
      if (wants("fence")) fence();
      if (wants("etcd") && !options_.etcd.empty()) etcd();
    }
    if (!options_.fault.empty()) fault();
    print();
  }

 private:
  bool wants(std::string_view part) const {
    return options_.only.empty() ||
           ("," + options_.only + ",").find(fmt::format(",{},", part)) != std::string::npos;
  }
  ClusterBed& bed() {
    if (!bed_) bed_ = std::make_unique<ClusterBed>(options_.cluster);
    return *bed_;
  }
  Case& of(const std::string& part, const std::string& name) {
    for (Case& one : cases_) {
      if (one.part == part && one.name == name) return one;
    }
    return cases_.emplace_back(Case{part, name, {}});
  }

  void add_appends(const std::string& part, const AppendLoad& load) {
    const AppendFigures got = measure_appends(bed(), load);
    Case& one = of(part, fmt::format("{} lanes, {} KiB, {} writers", load.lanes, load.bytes / 1024,
                                     load.writers));
    one.add("per_s", got.per_s);
    one.add("mib_per_s", got.per_s * static_cast<double>(load.bytes) / (1 << 20));
    one.add("p50_ms", got.p50_us / 1e3);
    one.add("p99_ms", got.p99_us / 1e3);
    one.add("client_cpu_us", got.client_cpu_us);
    one.add("osd_cpu_us", got.osd_cpu_us);
  }
  // One append in flight on each lane.
  void appends() {
    for (const size_t kib : {4u, 32u, 256u}) {
      for (const int lanes : {1, 2, 4, 8}) {
        add_appends(
            "appends",
            {.lanes = lanes, .bytes = kib * 1024, .writers = lanes, .seconds = options_.seconds});
      }
    }
  }
  void writers() {
    for (const int writers : {1, 4, 16, 64, 256}) {
      add_appends("writers",
                  {.lanes = 4, .bytes = 4096, .writers = writers, .seconds = options_.seconds});
    }
  }
  void pieces() {
    add_pieces("replicated", bed().pool());
    if (bed().has_coded_pool()) add_pieces("erasure-coded", bed().coded_pool());
  }
  void add_pieces(const std::string& name, RadosPool pool) {
    const PieceFigures got = measure_pieces(bed(), pool, options_.pieces);
    Case& one = of("pieces", name);
    one.add("write_ms", got.write_ms);
    one.add("write_mib_per_s", got.write_mib_s);
    one.add("read_4MiB_ms", got.whole_read_ms);
    one.add("read_256KiB_ms", got.range_read_ms);
    one.add("read_4KiB_ms", got.small_read_ms);
  }
  void fence() {
    constexpr int kLanes = 50;
    of("fence", "50 objects").add("ms", measure_fence_ms(bed(), kLanes));
  }
  void etcd() {
    for (const auto& [name, value] : measure_etcd(options_.etcd)) {
      of("etcd", "3 members").add(name, value);
    }
  }
  // Appends go on while the command is run by a shell; the longest append is the stall.
  void fault() {
    static constexpr double kBefore = 3;
    std::thread command([this] {
      std::this_thread::sleep_for(std::chrono::duration<double>(kBefore));
      if (std::system(options_.fault.c_str()) != 0) std::fprintf(stderr, "the command failed\n");
    });
    const AppendFigures got = measure_appends(bed(), {.lanes = 16,
                                                      .bytes = 4096,
                                                      .writers = 16,
                                                      .seconds = options_.fault_seconds,
                                                      .warm_s = 1});
    command.join();
    Case& one = of("fault", options_.fault);
    one.add("longest_append_ms", got.longest_us / 1e3);
    one.add("appends", static_cast<double>(got.appends));
    one.add("unknown", static_cast<double>(got.unknown));
  }

  void print() const {
    for (const Case& one : cases_) {
      std::string line = options_.json ? fmt::format("{{\"part\":\"{}\",\"case\":\"{}\"", one.part,
                                                     escape_bytes(one.name))
                                       : fmt::format("{:8} {:32}", one.part, one.name);
      for (const auto& [name, values] : one.figures) {
        std::vector<double> sorted = values;
        std::ranges::sort(sorted);
        const double median = sorted[sorted.size() / 2];
        line += options_.json ? fmt::format(",\"{}\":[{:.3f},{:.3f},{:.3f}]", name, median,
                                            sorted.front(), sorted.back())
                              : fmt::format("  {} {:.2f} ({:.2f}-{:.2f})", name, median,
                                            sorted.front(), sorted.back());
      }
      std::printf("%s%s\n", line.c_str(), options_.json ? "}" : "");
    }
  }

  const Options options_;
  std::unique_ptr<ClusterBed> bed_;
  std::vector<Case> cases_;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--config", options.cluster.config, "ceph.conf")->required();
  app.add_option("--client", options.cluster.client, "name in cephx")->capture_default_str();
  app.add_option("--pool", options.cluster.pool, "a replicated pool")->required();
  app.add_option("--coded-pool", options.cluster.coded_pool, "an erasure-coded pool");
  app.add_option("--etcd", options.etcd, "endpoints of etcd: HOST:PORT, separated by commas");
  app.add_option("--only", options.only, "of: appends,writers,pieces,fence,etcd,none");
  app.add_option("--seconds", options.seconds, "of each load")->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds")->capture_default_str();
  app.add_option("--pieces", options.pieces, "pieces of 4 MiB")->capture_default_str();
  app.add_option("--fault", options.fault,
                 "a command that is run by a shell 3 s into a load of appends");
  app.add_option("--fault-seconds", options.fault_seconds, "of that load")->capture_default_str();
  app.add_flag("--json", options.json, "one object a line: median, lowest, highest");
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) {
  cellar::bench::Options options;
  CLI::App app{"measures a Ceph cluster and etcd as a node uses them", "cellar-bench-cluster"};
  cellar::bench::declare(app, options);
  CLI11_PARSE(app, argc, argv);
  cellar::set_log_level(cellar::LogLevel::off);
  cellar::bench::Program(options).run();
  return 0;
}
