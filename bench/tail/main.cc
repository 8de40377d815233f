// cellar-bench-tail: the effect of concurrent merges on the tail of reads.
//
// An engine serves point reads of one table on two shards, due on a schedule and answered from the
// cache. First there is no other work; then another table is worked on in one of these ways:
//
//   slices   merged repeatedly by the same engine, in slices of the shards' own loops
//   fill     filled instead at full rate with 32 writes in flight per shard; the engine flushes and
//            merges it
//   thread   merged by another engine over a copy of the table, whose shards are SCHED_IDLE threads
//            on the same cores, each with its own ring: a model of merges on a separate thread
//
// The ways alternate; prints medians of the rounds, ratios, and the rates of the merges.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include <CLI/CLI.hpp>

#include "bench/embedded/process_counters.h"
#include "bench/embedded/write_driver.h"
#include "bench/tail/probe.h"
#include "engine/read/scan.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::bench {
namespace {

constexpr const char* kMerged = "merged";

struct Options {
  std::string directory;
  uint64_t rows = 1'000'000;
  double rate = 20'000;
  double write_rate = 0;
  double seconds = 3;
  int merges = 2;
  int rounds = 3;
};

BedOptions bed_options(const Options& options, const std::string& name) {
  BedOptions bed;
  bed.directory = options.directory + "/" + name;
  bed.rows = options.rows;
  bed.engine.memory_bytes = uint64_t{4} << 30;
  return bed;
}

struct Figures {
  std::vector<double> p50, p99, p999, longest, merged;  // us; MB a second
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options),
        serving_(bed_options(options, "serving")),
        beside_(bed_options(options, "beside")) {
    fill(serving_, {}, 1);
    serving_.flush();
    serving_.compact();
    filled_ = make_merged(serving_);
    make_merged(beside_);
    beside_.pool().run_on_all([](Shard&) -> Async<void> {
      const sched_param none{};
      CHECK(::sched_setscheduler(0, SCHED_IDLE, &none) == 0, "SCHED_IDLE was refused");
      co_return;
    });
    warm();
  }

  void run() {
    for (int round = 0; round < options_.rounds; ++round) {
      measure("none", [this] { return rest(); });
      measure("slices", [this] { return merge(serving_); });
      measure("thread", [this] { return merge(beside_); });
      fills_ = true;
      measure("fill", [this] { return rest(); });
      fills_ = false;
      serving_.flush(kMerged);
      serving_.compact(kMerged);
    }
    report();
  }

 private:
  using Ranges = std::vector<std::vector<RowRange>>;

  void fill(Bed& bed, const Ranges& ranges, uint64_t seed) {
    bed.pool().run_on_all([&](Shard& shard) -> Async<void> {
      WriteLoad load;
      load.operations = options_.rows / 2;
      load.in_flight = 32;
      load.in_order = true;
      load.seed = seed;
      if (!ranges.empty()) load.ranges = &ranges[shard.id().value()];
      WriteDriver driver(shard, bed, load);
      co_await driver.run();
    });
  }
  Ranges make_merged(Bed& bed) {
    Ranges ranges = bed.add_table(kMerged);
    for (uint64_t seed = 2; seed < 4; ++seed) {
      fill(bed, ranges, seed);
      bed.flush(kMerged);
    }
    bed.compact(kMerged);
    return ranges;
  }
  // Reads every row once, so that it is in the cache.
  void warm() {
    serving_.pool().run_on_all([this](Shard& shard) -> Async<void> {
      for (const RowRange& range : serving_.ranges_of(shard.id())) {
        ReadSpec spec;
        spec.rows.add({.start = std::string(RowKey(range.first).bytes()), .end = {}});
        spec.rows.normalize();
        auto cursor =
            serving_.node().engine(shard.id()).open_scan(range.tablet.id, range.tablet.epoch, spec);
        struct Sink final : CellSink {
          Flow cell(const CellView&) override { return Flow::more; }
          Flow end_row(Bytes) override { return Flow::more; }
        } sink;
        for (;;) {
          const engine::ScanStep step = (*cursor)->run(sink);
          if (step == engine::ScanStep::done) break;
          if (step == engine::ScanStep::blocked) {
            co_await (*cursor)->load();
          } else {
            co_await yield_now();
          }
        }
      }
    });
  }
  double rest() const {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.seconds));
    return 0;
  }
  // Merges the whole table several times; returns the MB read per second.
  double merge(Bed& bed) {
    const int64_t began_ns = steady_ns();
    for (int i = 0; i < options_.merges; ++i) bed.compact(kMerged);
    const double seconds = static_cast<double>(steady_ns() - began_ns) / 1e9;
    return static_cast<double>(beside_.stats().table_bytes) * options_.merges / seconds / 1e6;
  }

  void measure(const char* name, const std::function<double()>& work) {
    std::atomic<bool> stop = false;
    double merged = 0;
    std::jthread worker([&] {
      merged = work();
      stop = true;
    });
    Tally sum;
    std::vector<std::unique_ptr<WriteDriver>> writers(2);
    std::vector<Tally> tallies(2);
    serving_.pool().run_on_all([&](Shard& shard) -> Async<void> {
      const size_t at = shard.id().value();
      Event written;
      if (options_.write_rate > 0 || fills_) {
        WriteLoad load;
        load.rate = fills_ ? 0 : options_.write_rate;
        load.in_flight = 32;
        if (fills_) load.ranges = &filled_[at];
        writers[at] = std::make_unique<WriteDriver>(shard, serving_, load);
        spawn(shard.executor(), [&written, &writer = *writers[at]]() -> Async<void> {
          co_await writer.run();
          written.set();
        });
      }
      Probe probe(shard, serving_, options_.rate, 7);
      co_await probe.run(stop);
      tallies[at] = probe.tally();
      if (writers[at] == nullptr) co_return;
      writers[at]->stop();
      co_await written.wait();
      writers[at].reset();
    });
    worker.join();
    for (const Tally& tally : tallies) sum.merge(tally);
    const auto us = [&sum](double p) {
      return static_cast<double>(sum.latency.percentile(p)) / 10;
    };
    Figures& figures = figures_[name];
    figures.p50.push_back(us(50));
    figures.p99.push_back(us(99));
    figures.p999.push_back(us(99.9));
    figures.longest.push_back(static_cast<double>(sum.latency.max()) / 10);
    figures.merged.push_back(merged);
    fmt::print("{:7} reads {:8}  p50 {:7.1f}  p99 {:7.1f}  p99.9 {:8.1f}  longest {:9.1f} us", name,
               sum.operations, us(50), us(99), us(99.9), figures.longest.back());
    fmt::print("  merged {:6.1f} MB/s\n", merged);
    std::fflush(stdout);
  }

  void report() {
    fmt::print("\nmedians of {} rounds, {:.0f} reads/s and {:.0f} writes/s a shard\n",
               options_.rounds, options_.rate, options_.write_rate);
    for (const char* name : {"none", "slices", "thread", "fill"}) {
      const Figures& f = figures_[name];
      fmt::print("{:7} p50 {:7.1f}  p99 {:7.1f}  p99.9 {:8.1f}  longest {:9.1f} us  {:6.1f} MB/s\n",
                 name, median(f.p50), median(f.p99), median(f.p999), median(f.longest),
                 median(f.merged));
    }
    const auto ratio = [](double a, double b) { return b > 0 ? a / b : 0; };
    const Figures& slices = figures_["slices"];
    const Figures& thread = figures_["thread"];
    fmt::print("thread : slices   p50 {:.2f}  p99 {:.2f}  p99.9 {:.2f}  MB/s {:.2f}\n",
               ratio(median(thread.p50), median(slices.p50)),
               ratio(median(thread.p99), median(slices.p99)),
               ratio(median(thread.p999), median(slices.p999)),
               ratio(median(thread.merged), median(slices.merged)));
  }

  const Options options_;
  Bed serving_;
  Bed beside_;
  Ranges filled_;  // of kMerged, in serving_
  bool fills_ = false;
  std::map<std::string, Figures> figures_;
};

int run(int argc, char** argv) {
  CLI::App app("What merges do to the tail of reads: in slices, and on an idle thread");
  Options options;
  app.add_option("--dir", options.directory, "where the data goes; made when it is not there")
      ->required();
  app.add_option("--rows", options.rows, "of each table");
  app.add_option("--rate", options.rate, "reads a second, of each shard");
  app.add_option("--writes", options.write_rate, "and writes beside them");
  app.add_option("--seconds", options.seconds, "of reads without merges");
  app.add_option("--merges", options.merges, "of the whole table, a round");
  app.add_option("--rounds", options.rounds);
  CLI11_PARSE(app, argc, argv);
  set_log_level(LogLevel::error);
  Program program(options);
  program.run();
  return 0;
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) { return cellar::bench::run(argc, argv); }
