// cellar-bench-engine: the engine without a network, under loads like those of RocksDB's db_bench.
//
//   cellar-bench-engine --dir DIR --phases fillrandom,settle [--rows 20000000]
//
// Phases run one after the other on one open directory; each that measures prints a line of JSON.
//
//   fill, fillrandom   writes: every row in order; --operations random ones (default: --rows)
//   sustained          random writes for --seconds
//   overwrite          fillrandom, with the overdue bytes watched throughout
//   flush, compact     everything to disk; everything into one run per tablet
//   settle             waits until the engine has no work left
//   warm               reads everything once
//   readrandom         point reads for --seconds; seekrandom: scans of --scan-rows
//   die                ends the process without closing; the next run has to recover
//   readwhilewriting   readrandom with concurrent random writes at --rate
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "bench/embedded/bed.h"
#include "bench/embedded/flow_watch.h"
#include "bench/embedded/overdue_watch.h"
#include "bench/embedded/process_counters.h"
#include "bench/embedded/read_driver.h"
#include "bench/embedded/write_driver.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::bench {
namespace {

struct Options {
  BedOptions bed;
  WriteLoad write;
  ReadLoad read;
  std::vector<std::string> phases;
  double seconds = 10;
  double rate = 0;
  uint64_t operations = 0;
  uint64_t cache_bytes = uint64_t{1} << 30;
  double reclaim_within_s = 3600;
  double removal_margin_s = 300;
  std::string level = "periodic";
};

double tenths_to_us(uint64_t tenths) { return static_cast<double>(tenths) / 10; }

class Program {
 public:
  explicit Program(Options options) : options_(std::move(options)), bed_(options_.bed) {
    boost::json::object out;
    const engine::RecoveryReport& found = bed_.node().recovery();
    out["phase"] = "open";
    out["seconds"] = static_cast<double>(found.elapsed_us) / 1e6;
    out["replayed_bytes"] = found.replayed_bytes;
    out["replayed_commits"] = found.replayed_commits;
    out["tables"] = bed_.stats().tables_on_disk;
    fmt::print("{}\n", boost::json::serialize(out));
  }

  void report_turns() { fmt::print(stderr, "{}", bed_.turn_report()); }

  void run(const std::string& phase) {
    const auto found = phases().find(phase);
    CHECK(found != phases().end(), "no phase '{}'", phase);
    found->second(*this);
  }

 private:
  using Phase = std::function<void(Program&)>;

  static const std::map<std::string, Phase>& phases() {
    static const std::map<std::string, Phase> all = {
        {"fill", [](Program& p) { p.fill(true); }},
        {"fillrandom", [](Program& p) { p.fill(false); }},
        {"overwrite", [](Program& p) { p.overwrite(); }},
        {"sustained", [](Program& p) { p.sustained(); }},
        {"flush", [](Program& p) { p.measured("flush", [&p](auto&) { p.bed_.flush(); }); }},
        {"compact", [](Program& p) { p.measured("compact", [&p](auto&) { p.bed_.compact(); }); }},
        {"settle", [](Program& p) { p.measured("settle", [&p](auto&) { p.bed_.settle(); }); }},
        {"warm", [](Program& p) { p.warm(); }},
        {"readrandom", [](Program& p) { p.read("readrandom", 0); }},
        {"seekrandom", [](Program& p) { p.read("seekrandom", p.options_.read.scan_rows); }},
        {"die", [](Program& p) { p.die(); }},
        {"readwhilewriting", [](Program& p) { p.read_while_writing(); }},
    };
    return all;
  }

  // Like a kill, with everything written on disk.
  void die() {
    std::this_thread::sleep_for(
        std::chrono::microseconds(2 * options_.bed.engine.periodic_interval_us));
    std::fflush(stdout);
    _exit(0);
  }

  WriteLoad share(WriteLoad load) const {
    load.operations = (load.operations + options_.bed.shards - 1) / options_.bed.shards;
    load.rate /= options_.bed.shards;
    load.in_flight = std::max<size_t>(load.in_flight / options_.bed.shards, 1);
    return load;
  }

  void fill(bool in_order) {
    WriteLoad load = options_.write;
    load.in_order = in_order;
    load.operations =
        in_order || options_.operations == 0 ? options_.bed.rows : options_.operations;
    measured(in_order ? "fill" : "fillrandom",
             [this, load](boost::json::object& out) { report(write(load), out); });
  }

  void overwrite() {
    WriteLoad load = options_.write;
    load.operations = options_.operations == 0 ? options_.bed.rows : options_.operations;
    measured("overwrite", [this, load](boost::json::object& out) {
      OverdueWatch watch(bed_);
      report(write(load), out);
      watch.report(out);
      out["table_bytes"] = bed_.stats().table_bytes;
    });
  }

  void sustained() {
    measured("sustained", [this](boost::json::object& out) {
      WriteLoad load = options_.write;
      load.operations = 0;
      FlowWatch watch(bed_);
      const Tally tally = write(load, [this] { wait(); });
      watch.report(out);
      report(tally, out);
      boost::json::array seconds(tally.per_second.begin(), tally.per_second.end());
      out["per_second"] = seconds;
    });
  }

  void wait() const {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.seconds));
  }

  // Runs one driver per shard; `meanwhile` runs concurrently, and when it returns the drivers stop.
  Tally write(const WriteLoad& load, const std::function<void()>& meanwhile = {}) {
    std::vector<std::unique_ptr<WriteDriver>> drivers(options_.bed.shards);
    bed_.pool().run_on_all([&](Shard& shard) -> Async<void> {
      drivers[shard.id().value()] = std::make_unique<WriteDriver>(shard, bed_, share(load));
      co_return;
    });
    std::jthread stopper;
    if (meanwhile) {
      stopper = std::jthread([this, &drivers, &meanwhile] {
        meanwhile();
        bed_.pool().run_on_all([&drivers](Shard& shard) -> Async<void> {
          drivers[shard.id().value()]->stop();
          co_return;
        });
      });
    }
    bed_.pool().run_on_all([&drivers](Shard& shard) { return drivers[shard.id().value()]->run(); });
    if (stopper.joinable()) stopper.join();
    return finish(drivers);
  }

  template <class Driver>
  Tally finish(std::vector<std::unique_ptr<Driver>>& drivers) {
    Tally sum;
    for (const auto& driver : drivers) sum.merge(driver->tally());
    bed_.pool().run_on_all([&drivers](Shard& shard) -> Async<void> {
      drivers[shard.id().value()].reset();
      co_return;
    });
    return sum;
  }

  Tally read(const ReadLoad& load) {
    std::vector<std::unique_ptr<ReadDriver>> drivers(options_.bed.shards);
    bed_.pool().run_on_all([&](Shard& shard) -> Async<void> {
      ReadLoad mine = load;
      mine.readers = std::max<size_t>(load.readers / options_.bed.shards, 1);
      auto& driver = drivers[shard.id().value()];
      driver = std::make_unique<ReadDriver>(shard, bed_, mine);
      co_await driver->run();
    });
    return finish(drivers);
  }

  void read(const char* name, uint32_t scan_rows) {
    measured(name, [this, scan_rows](boost::json::object& out) {
      ReadLoad load = options_.read;
      load.scan_rows = scan_rows;
      report(read(load), out);
    });
  }

  void warm() {
    measured("warm", [this](boost::json::object& out) {
      ReadLoad load = options_.read;
      load.readers = options_.bed.shards;
      load.scan_rows = UINT32_MAX;
      load.duration_ns = 1;
      load.from_start = true;
      report(read(load), out);
    });
  }

  void read_while_writing() {
    measured("readwhilewriting", [this](boost::json::object& out) {
      ReadLoad load = options_.read;
      load.scan_rows = 0;
      Tally reads;
      WriteLoad writes = options_.write;
      writes.operations = 0;
      writes.rate = options_.rate;
      const Tally written = write(writes, [this, &load, &reads] { reads = read(load); });
      report(reads, out);
      boost::json::object beside;
      report(written, beside);
      out["writes"] = beside;
    });
  }

  static void report(const Tally& tally, boost::json::object& out) {
    out["operations"] = tally.operations;
    out["ops_per_second"] = static_cast<double>(tally.operations) / std::max(tally.seconds(), 1e-9);
    out["cells"] = tally.cells;
    out["refused"] = tally.refused;
    if (tally.refused > 0) out["first_refusal"] = tally.first_refusal;
    out["p50_us"] = tenths_to_us(tally.latency.percentile(50));
    out["p99_us"] = tenths_to_us(tally.latency.percentile(99));
    out["p99.9_us"] = tenths_to_us(tally.latency.percentile(99.9));
    out["max_us"] = tenths_to_us(tally.latency.max());
    out["over_100_ms"] = tally.long_ones;
    report_stages(tally, out);
    if (tally.per_second.size() < 4) return;
    // The first and the last second are partial.
    std::vector<uint64_t> whole(tally.per_second.begin() + 1, tally.per_second.end() - 1);
    std::sort(whole.begin(), whole.end());
    out["slowest_second"] = whole.front();
    out["median_second"] = whole[whole.size() / 2];
  }

  static void report_stages(const Tally& tally, boost::json::object& out) {
    if (tally.longest_ns == 0) return;
    boost::json::object over;
    boost::json::object longest;
    for (size_t i = 0; i < kStageNames.size(); ++i) {
      if (tally.long_by_stage[i] > 0) over[kStageNames[i]] = tally.long_by_stage[i];
      if (tally.longest[i] > 0)
        longest[kStageNames[i]] = static_cast<double>(tally.longest[i]) / 1e6;
    }
    out["over_100_ms_stages"] = over;
    out["longest_ms_stages"] = longest;
  }

  // The blocks read, and where they were found.
  void report_found(const engine::ShardFigures& before, boost::json::object& out) {
    const engine::ShardFigures after = bed_.figures();
    out["cache_hits"] = after.cache_hits - before.cache_hits;
    out["cache_packed_hits"] = after.cache_packed_hits - before.cache_packed_hits;
    out["cache_packed_bytes"] = after.cache_packed_bytes;
    out["cache_bytes"] = bed_.stats().cache_bytes;
    out["index_bytes"] = bed_.stats().metadata_bytes;  // always in memory
    out["device_reads"] = after.device_reads - before.device_reads;
    out["device_read_bytes"] = after.device_read_bytes - before.device_read_bytes;
  }

  template <class F>
  void measured(const char* name, F work) {
    const ProcessCounters before = ProcessCounters::now();
    const engine::ShardFigures found_before = bed_.figures();
    const int64_t began_ns = steady_ns();
    boost::json::object out;
    out["phase"] = name;
    work(out);
    const ProcessCounters after = ProcessCounters::now();
    out["seconds"] = static_cast<double>(steady_ns() - began_ns) / 1e9;
    out["processor_s"] = after.processor_s - before.processor_s;
    out["written_bytes"] = after.written_bytes - before.written_bytes;
    out["read_bytes"] = after.read_bytes - before.read_bytes;
    out["peak_resident_bytes"] = after.peak_resident_bytes;
    out["memory_budget_bytes"] = options_.bed.engine.memory_bytes;
    const engine::EngineStats stats = bed_.stats();
    report_found(found_before, out);
    out["longest_turn_us"] = bed_.longest_turn_us();
    out["flushes"] = stats.flushes;
    out["compactions"] = stats.compactions;
    out["tables"] = stats.tables_on_disk;
    out["table_bytes"] = stats.table_bytes;
    out["memtable_bytes"] = stats.memtable_bytes;
    fmt::print("{}\n", boost::json::serialize(out));
    std::fflush(stdout);
  }

  const Options options_;
  Bed bed_;
};

Durability level_of(const std::string& name) {
  if (name == "sync") return Durability::sync;
  if (name == "periodic") return Durability::periodic;
  CHECK(name == "memory", "no level '{}'", name);
  return Durability::memory;
}

void declare(CLI::App& app, Options& options) {
  engine::EngineOptions& engine = options.bed.engine;
  app.add_option("--dir", options.bed.directory, "data directory; created if it is absent")
      ->required();
  app.add_option("--phases", options.phases, "see the head of bench/embedded/main.cc")
      ->required()
      ->delimiter(',');
  app.add_flag("--existing", options.bed.existing,
               "use the rows of an earlier run in the directory");
  app.add_option("--rows", options.bed.rows, "row numbers are below this");
  app.add_option("--operations", options.operations, "random writes; 0: as many as rows");
  app.add_option("--seconds", options.seconds, "of phases that go by time")->take_last();
  app.add_option("--value-bytes", options.write.value_bytes);
  app.add_option("--shards", options.bed.shards, "threads");
  app.add_option("--tablets", options.bed.tablets_per_shard, "of each shard");
  app.add_option("--in-flight", options.write.in_flight, "writes in flight, over all shards");
  app.add_option("--level", options.level, "sync, periodic or memory");
  app.add_option("--rate", options.rate,
                 "writes a second concurrent with reads, over all shards; 0: no limit");
  app.add_option("--readers", options.read.readers, "reads in flight, over all shards");
  app.add_option("--scan-rows", options.read.scan_rows);
  app.add_option("--max-versions", options.bed.max_versions, "the family's rule; 0: keep all");
  const std::map<std::string, BottomCompression> bottoms = {
      {"automatic", BottomCompression::automatic},
      {"same", BottomCompression::same},
      {"zstd", BottomCompression::zstd}};
  app.add_option("--bottom-compression", options.bed.bottom_compression,
                 "of the table: automatic, same (LZ4 everywhere) or zstd")
      ->transform(CLI::CheckedTransformer(bottoms));
  const std::map<std::string, engine::IndexParts> parts = {
      {"automatic", engine::IndexParts::automatic},
      {"always", engine::IndexParts::always},
      {"never", engine::IndexParts::never}};
  app.add_option("--index-parts", engine.index_parts,
                 "index and filters in parts: automatic, always or never")
      ->transform(CLI::CheckedTransformer(parts));
  app.add_option("--reclaim-within-s", options.reclaim_within_s, "of the table");
  app.add_option("--removal-margin-s", options.removal_margin_s, "of the node, beside it");
  app.add_option("--cache-bytes", options.cache_bytes,
                 "size of the block cache; memory is four times that");
  app.add_option("--memtable-bytes", engine.memtable_bytes);
  app.add_option("--table-bytes", engine.table_bytes);
  app.add_option("--segment-bytes", engine.log_segment_bytes);
  app.add_option("--seed", options.write.seed);
  app.add_option(
      "--long-turns-us", options.bed.long_turn_us,
      "reports the stacks of turns with more processor time than this on standard error");
}

int run(int argc, char** argv) {
  CLI::App app("The engine without a network, under loads like those of db_bench");
  Options options;
  options.read.scan_rows = 100;
  options.read.readers = 2;
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  options.write.level = level_of(options.level);
  options.bed.engine.memory_bytes = options.cache_bytes * 4;
  options.bed.reclaim_within_us = static_cast<int64_t>(options.reclaim_within_s * 1e6);
  options.bed.engine.removal_margin_us = static_cast<int64_t>(options.removal_margin_s * 1e6);
  options.read.duration_ns = static_cast<int64_t>(options.seconds * 1e9);
  options.read.seed = options.write.seed + 17;
  set_log_level(LogLevel::error);
  Program program(options);
  for (const std::string& phase : options.phases) program.run(phase);
  program.report_turns();
  return 0;
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) { return cellar::bench::run(argc, argv); }
