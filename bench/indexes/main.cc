// What secondary indexes cost and give, on the embedded engine with one shard and one tablet.
//
//   writes  random rows of one 100-byte value, with 0, 1 and more indexes on the value: rate,
//           processor time of a write, bytes on disk
//   reads   everything in memory: a point read; a read through the index that finds one row by its
//           value; one that walks 100 rows in the order of the values
//
// The sides alternate in each round; figures are medians of the rounds with the lowest and the
// highest.
//
//   cellar-bench-indexes --directory DIR [--rows 1000000] [--reads 200000] [--rounds 3]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/embedded/bed.h"
#include "bench/embedded/random_reads.h"
#include "bench/embedded/write_driver.h"
#include "engine/index_scan.h"
#include "engine/read/scan.h"
#include "io/base/check.h"

namespace cellar::bench {
namespace {

struct Settings {
  std::string directory;
  uint64_t rows = 1'000'000;
  uint64_t reads = 200'000;
  int rounds = 3;
  int most_indexes = 2;
};

struct Figures {
  std::vector<double> values;
  void add(double value) { values.push_back(value); }
  std::string text(const char* format) const {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    const auto one = [format](double v) { return fmt::format(fmt::runtime(format), v); };
    return fmt::format("{} ({} to {})", one(sorted[sorted.size() / 2]), one(sorted.front()),
                       one(sorted.back()));
  }
};

double processor_us() {
  rusage use{};
  CHECK(getrusage(RUSAGE_SELF, &use) == 0);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(use.ru_utime) + us(use.ru_stime);
}

BedOptions options_of(const Settings& settings) {
  BedOptions options;
  options.directory = settings.directory;
  options.shards = 1;
  options.rows = settings.rows;
  return options;
}

void run_on_shard(Bed& bed, std::function<Async<void>(Shard&)> work) {
  bed.pool().run_on(ShardId{0}, std::move(work));
}

void add_index(Bed& bed, int number) {
  run_on_shard(bed, [&bed, number](Shard& shard) -> Async<void> {
    engine::TableChange change;
    change.name = Bed::kTable;
    engine::IndexSpec& index = change.add_indexes.emplace_back();
    index.name = fmt::format("i{}", number);
    index.family = "f";
    index.qualifier = "q";
    index.parts = {IndexPart::value};
    const auto altered = co_await bed.node().alter_table(shard.id(), std::move(change), {});
    CHECK(altered.has_value(), "{}", altered.error().to_string());
  });
}

struct Side {
  Figures rate;
  Figures processor_us;
  Figures disk_mib;
};

void write_rows(Bed& bed, const Settings& settings, Side& side) {
  const double before_us = processor_us();
  const int64_t began_ns = steady_ns();
  run_on_shard(bed, [&](Shard& shard) -> Async<void> {
    WriteLoad load;
    load.operations = settings.rows;
    WriteDriver driver(shard, bed, load);
    co_await driver.run();
  });
  const auto writes = static_cast<double>(settings.rows);
  side.rate.add(writes / (static_cast<double>(steady_ns() - began_ns) / 1e9));
  bed.flush();
  bed.settle();
  side.processor_us.add((processor_us() - before_us) / writes);
  side.disk_mib.add(static_cast<double>(bed.stats().table_bytes) / (1 << 20));
}

// Some values of the table, with their rows, in the order of the index.
struct Sample {
  std::vector<std::string> values;
  std::vector<std::string> rows;
};

Async<Sample> sample(Bed& bed, uint64_t most) {
  Sample sample;
  const RowRange& range = bed.ranges_of(ShardId{0}).front();
  engine::Engine& engine = bed.node().engine(ShardId{0});
  IndexReadSpec spec;
  spec.index = "i0";
  auto scan = engine.open_index(range.tablet.id, range.tablet.epoch, spec);
  CHECK(scan.has_value(), "{}", scan.error().to_string());
  engine::IndexBatch batch;
  while (!batch.done && sample.values.size() < most) {
    batch.clear();
    const auto read = co_await (*scan)->next(batch, {});
    CHECK(read.has_value(), "{}", read.error().to_string());
    for (engine::IndexHit& hit : batch.hits) {
      sample.values.push_back(std::move(hit.cells.front().value));
      sample.rows.push_back(std::move(hit.row));
    }
  }
  co_return sample;
}

Async<void> read_rows(Bed& bed, const Sample& sample, uint64_t reads) {
  const RowRange& range = bed.ranges_of(ShardId{0}).front();
  engine::Engine& engine = bed.node().engine(ShardId{0});
  Random random(3);
  for (uint64_t i = 0; i < reads; ++i) {
    if (i % 16 == 0) co_await yield_now();
    ReadSpec spec;
    spec.rows.set_single(sample.rows[random.below(sample.rows.size())]);
    CountCells sink;
    auto started = engine.start_read(range.tablet.id, range.tablet.epoch, spec, sink, nullptr);
    CHECK(started.has_value(), "{}", started.error().to_string());
    const auto cursor = std::move(started->cursor);
    for (engine::ScanStep step = started->step; step != engine::ScanStep::done;
         step = cursor->run(sink)) {
      if (step == engine::ScanStep::blocked) {
        co_await cursor->load();
      } else {
        co_await yield_now();
      }
    }
    CHECK(sink.cells == 1, "{} cells", sink.cells);
  }
}

// `hits` a read: one by its value, or more from a value on.
Async<void> read_index(Bed& bed, const Sample& sample, uint64_t reads, size_t hits) {
  const RowRange& range = bed.ranges_of(ShardId{0}).front();
  engine::Engine& engine = bed.node().engine(ShardId{0});
  Random random(4);
  for (uint64_t i = 0; i < reads; ++i) {
    if (i % 16 == 0) co_await yield_now();
    IndexReadSpec spec;
    spec.index = "i0";
    const std::string& value = sample.values[random.below(sample.values.size() - hits)];
    spec.values = KeyPartRange::exactly(value);
    if (hits > 1) spec.values->end.reset();
    auto scan = engine.open_index(range.tablet.id, range.tablet.epoch, spec);
    CHECK(scan.has_value(), "{}", scan.error().to_string());
    engine::IndexBatch batch;
    while (!batch.done && batch.hits.size() < hits) {
      const auto read = co_await (*scan)->next(batch, {.hits = hits});
      CHECK(read.has_value(), "{}", read.error().to_string());
    }
    CHECK(batch.hits.size() >= hits, "{} hits", batch.hits.size());
  }
}

struct Reads {
  Figures point_us;
  Figures hit_us;
  Figures walked_us;  // of each of 100 hits
};

double timed(Bed& bed, uint64_t operations, std::function<Async<void>(Shard&)> work) {
  const int64_t began_ns = steady_ns();
  run_on_shard(bed, std::move(work));
  return static_cast<double>(steady_ns() - began_ns) / 1e3 / static_cast<double>(operations);
}

void read_all(Bed& bed, const Settings& settings, Reads& reads) {
  constexpr size_t kWalk = 100;
  Sample values;
  run_on_shard(bed, [&](Shard&) -> Async<void> { values = co_await sample(bed, 100'000); });
  const uint64_t walks = std::max<uint64_t>(settings.reads / kWalk, 1);
  for (int round = 0; round < settings.rounds; ++round) {
    reads.point_us.add(timed(bed, settings.reads, [&](Shard&) -> Async<void> {
      co_await read_rows(bed, values, settings.reads);
    }));
    reads.hit_us.add(timed(bed, settings.reads, [&](Shard&) -> Async<void> {
      co_await read_index(bed, values, settings.reads, 1);
    }));
    reads.walked_us.add(timed(bed, walks * kWalk, [&](Shard&) -> Async<void> {
      co_await read_index(bed, values, walks, kWalk);
    }));
  }
}

void print_reads(const char* when, const engine::EngineStats& stats, const Reads& reads) {
  fmt::print("{} ({} tables)\n", when, stats.tables_on_disk);
  fmt::print("  point read                     {} us\n", reads.point_us.text("{:.2f}"));
  fmt::print("  hit by its value               {} us\n", reads.hit_us.text("{:.2f}"));
  fmt::print("  hit of a walk over 100         {} us\n", reads.walked_us.text("{:.2f}"));
}

int run(const Settings& settings) {
  std::vector<Side> sides(static_cast<size_t>(settings.most_indexes) + 1);
  for (int round = 0; round < settings.rounds; ++round) {
    for (size_t indexes = 0; indexes < sides.size(); ++indexes) {
      std::filesystem::remove_all(settings.directory);
      Bed bed(options_of(settings));
      for (size_t i = 0; i < indexes; ++i) add_index(bed, static_cast<int>(i));
      write_rows(bed, settings, sides[indexes]);
      if (indexes != 1 || round + 1 < settings.rounds) continue;
      Reads several;
      read_all(bed, settings, several);
      print_reads("reads as loaded", bed.stats(), several);
      bed.compact();
      Reads compacted;
      read_all(bed, settings, compacted);
      print_reads("reads after compaction", bed.stats(), compacted);
    }
  }
  for (size_t indexes = 0; indexes < sides.size(); ++indexes) {
    fmt::print("writes with {} indexes: {} /s, {} us of processor, {} MiB of tables\n", indexes,
               sides[indexes].rate.text("{:.0f}"), sides[indexes].processor_us.text("{:.2f}"),
               sides[indexes].disk_mib.text("{:.0f}"));
  }
  std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) {
  cellar::bench::Settings settings;
  CLI::App app("The cost of secondary indexes.");
  app.add_option("--directory", settings.directory, "emptied at the start and removed at the end")
      ->required();
  app.add_option("--rows", settings.rows)->check(CLI::Range(uint64_t{1000}, uint64_t{100'000'000}));
  app.add_option("--reads", settings.reads)->check(CLI::PositiveNumber);
  app.add_option("--rounds", settings.rounds)->check(CLI::Range(1, 100));
  app.add_option("--indexes", settings.most_indexes, "up to so many")->check(CLI::Range(1, 8));
  CLI11_PARSE(app, argc, argv);
  return cellar::bench::run(settings);
}
