// Simulates the compaction scheduler on a large machine: 64 cores, 30 TB. Shows which deadline,
// slack and write amplification are possible together (bench/COST_MODEL.md). Deterministic.
//
//   cellar-bench-simulate [--cores 64] [--terabytes 30] [--write-gbs 16] [--read-gbs 40]
//                         [--merge-mbs 200] [--memory-gib 1024] [--turns 3] [--table rates|...]
#include <fmt/format.h>

#include <algorithm>

#include <CLI/CLI.hpp>

#include "bench/simulate/shard_model.h"

namespace cellar::simulate {
namespace {

struct Node {
  double cores = 64;
  double terabytes = 30;
  double write_gbs = 16;  // of all devices together
  double read_gbs = 40;
  double merge_mbs = 200;  // of one core
  double memory_gib = 1024;
  double tablet_gib = 1;
  double memtable_mib = 64;
  double turns = 3;

  Machine machine() const {
    return {read_gbs * 1e9 / cores, write_gbs * 1e9 / cores, merge_mbs * 1e6};
  }
  Load load(Load::Kind kind, double ingest_mbs, double age_s) const {
    return {kind, terabytes * 1e12 / cores, ingest_mbs * 1e6 / cores, age_s};
  }
  // Memtables take at most half of a shard's memory; at that size the largest is flushed, which
  // under even load is about twice the mean (engine/shard/maintenance.h).
  Policy policy() const {
    Policy p;
    p.tablet_bytes = tablet_gib * (1 << 30);
    const double tablets = terabytes * 1e12 / cores / p.tablet_bytes;
    const double share = memory_gib * (1 << 30) / cores / 2;
    p.flush_bytes = std::min(memtable_mib * (1 << 20), 2 * share / tablets);
    return p;
  }
};

void head(const char* what) {
  fmt::print("\n{}\n{:>9}{:>9}{:>7}{:>7}{:>8}{:>8}{:>8}{:>8}{:>9}{:>10}{:>8}{:>7}{:>6}{:>9}\n",
             what, "MB/s in", "within", "slack", "share", "w.amp", "flush", "merge", "reclaim",
             "space", "overdue%", "late", "busy%", "runs", "behind");
}

std::string time_text(double s) {
  if (s <= 0) return "-";
  if (s < 90) return fmt::format("{:.0f}s", s);
  if (s < 5400) return fmt::format("{:.0f}m", s / 60);
  return fmt::format("{:.1f}h", s / 3600);
}

void line(const Node& node, const Load& load, const Policy& policy) {
  ShardModel shard(node.machine(), load, policy);
  const Outcome out = shard.run(node.turns);
  fmt::print(
      "{:>9.0f}{:>9}{:>7.2f}{:>7.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>9.2f}{:>10.1f}{:>8}{:>7.1f}{"
      ":>6."
      "1f}{:>9}\n",
      load.ingest * node.cores / 1e6, time_text(policy.reclaim_within_s), policy.dead_slack,
      policy.reclaim_share, out.write_amplification(), out.flushed / out.ingested,
      out.merged / out.ingested, out.reclaimed / out.ingested, out.space, 100 * out.worst_tablet,
      time_text(out.latest_s), 100 * out.worked_s / out.time_s, out.runs, out.backlog);
  std::fflush(stdout);
}

void rates(const Node& node) {
  head("Overwrites at random, reclaiming off: how much can be written");
  for (const double mbs : {100, 200, 400, 800, 1600, 2400, 3200}) {
    Policy p = node.policy();
    p.reclaim_share = 0;
    line(node, node.load(Load::Kind::overwrites, mbs, 86'400), p);
  }
}

void overwrites(const Node& node) {
  head("Overwrites at random, 400 MB/s: the deadline and the slack");
  for (const double within_s : {600.0, 3600.0, 6 * 3600.0, 86'400.0}) {
    for (const double slack : {0.02, 0.05, 0.1, 0.2, 0.4}) {
      Policy p = node.policy();
      p.reclaim_within_s = within_s;
      p.dead_slack = slack;
      line(node, node.load(Load::Kind::overwrites, 400, 86'400), p);
    }
  }
}

void ages(const Node& node) {
  for (const double days : {1.0, 30.0}) {
    const double mbs = node.terabytes * 1e6 / (days * 86'400);
    head(fmt::format("Cells that live {:.0f} d, {:.0f} MB/s: the deadline and the slack", days, mbs)
             .c_str());
    for (const double within_s : {600.0, 3600.0, 6 * 3600.0, 86'400.0}) {
      for (const double slack : {0.02, 0.05, 0.1, 0.2}) {
        Policy p = node.policy();
        p.reclaim_within_s = within_s;
        p.dead_slack = slack;
        line(node, node.load(Load::Kind::ages, mbs, days * 86'400), p);
      }
    }
  }
}

void windows(const Node& node) {
  for (const bool by_windows : {false, true}) {
    head(by_windows ? "Cells that live 1 d, an hour and 0.1: by windows; flushes of 1 to 64 MiB"
                    : "Cells that live 1 d, an hour and 0.1: tiered; flushes of 1 to 64 MiB");
    for (const double mib : {1, 2, 4, 8, 16, 32, 64}) {
      Policy p = node.policy();
      p.flush_bytes = mib * (1 << 20);
      p.windows = by_windows;
      line(node, node.load(Load::Kind::ages, node.terabytes * 1e6 / 86'400, 86'400), p);
    }
  }
}

void shares(const Node& node) {
  head("Overwrites at random, 800 MB/s, an hour and 0.1: the share of reclaiming");
  for (const double share : {0.05, 0.1, 0.25, 0.5, 1.0}) {
    Policy p = node.policy();
    p.reclaim_share = share;
    line(node, node.load(Load::Kind::overwrites, 800, 86'400), p);
  }
}

void memtables(const Node& node) {
  head("Overwrites at random, 400 MB/s: memory (flushes of 4 to 64 MiB)");
  for (const double mib : {4, 8, 16, 32, 64}) {
    Policy p = node.policy();
    p.flush_bytes = mib * (1 << 20);
    line(node, node.load(Load::Kind::overwrites, 400, 86'400), p);
  }
}

int run(int argc, char** argv) {
  CLI::App app("The compaction scheduler on a machine that is not here");
  Node node;
  std::string table;
  app.add_option("--cores", node.cores, "shards, a core each");
  app.add_option("--terabytes", node.terabytes, "that live");
  app.add_option("--write-gbs", node.write_gbs, "of all devices, GB/s");
  app.add_option("--read-gbs", node.read_gbs, "of all devices, GB/s");
  app.add_option("--merge-mbs", node.merge_mbs, "that one core merges, MB/s");
  app.add_option("--memory-gib", node.memory_gib, "memory.total");
  app.add_option("--tablet-gib", node.tablet_gib, "balance.split");
  app.add_option("--memtable-mib", node.memtable_mib, "memory.memtable");
  app.add_option("--turns", node.turns, "how often the data is written in full; half is measured");
  app.add_option("--table", table, "rates, overwrites, ages, windows, shares or memtables alone");
  CLI11_PARSE(app, argc, argv);
  const Policy p = node.policy();
  fmt::print("{:.0f} cores, {:.0f} TB in {:.0f} tablets; flushes of {:.1f} MiB\n", node.cores,
             node.terabytes, node.terabytes * 1e12 / p.tablet_bytes, p.flush_bytes / (1 << 20));
  const auto wants = [&table](const char* name) { return table.empty() || table == name; };
  if (wants("rates")) rates(node);
  if (wants("overwrites")) overwrites(node);
  if (wants("shares")) shares(node);
  if (wants("memtables")) memtables(node);
  if (wants("ages")) ages(node);
  if (wants("windows")) windows(node);
  return 0;
}

}  // namespace
}  // namespace cellar::simulate

int main(int argc, char** argv) { return cellar::simulate::run(argc, argv); }
