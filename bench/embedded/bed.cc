#include "bench/embedded/bed.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "bench/embedded/dataset.h"
#include "bench/embedded/process_counters.h"
#include "io/base/check.h"

namespace cellar::bench {
namespace {

constexpr const char* kFamily = "f";

template <class T>
T must(Result<T> result) {
  CHECK(result.has_value(), "{}", result.error().to_string());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Files may appear and disappear meanwhile.
uint64_t bytes_in(const std::string& directory) {
  uint64_t sum = 0;
  std::error_code ignored;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk it(directory, ignored); it != Walk(); it.increment(ignored)) {
    const uintmax_t bytes = it->is_regular_file(ignored) ? it->file_size(ignored) : 0;
    if (!ignored) sum += bytes;
  }
  return sum;
}

engine::TableSpec table_spec(const BedOptions& options, const std::string& name) {
  engine::TableSpec spec;
  spec.name = name;
  spec.granularity = Granularity::micros;
  spec.options.reclaim_within_us = options.reclaim_within_us;
  engine::FamilySpec& family = spec.families.emplace_back();
  family.name = kFamily;
  spec.options.compaction = options.compaction;
  spec.options.bottom_compression = options.bottom_compression;
  family.rule = options.rule                ? *options.rule
                : options.max_versions == 0 ? RetentionRule()
                                            : RetentionRule::max_versions(options.max_versions);
  const uint64_t tablets = uint64_t{options.shards} * options.tablets_per_shard;
  for (uint64_t i = 1; i < tablets; ++i) {
    spec.splits.emplace_back(RowKey(options.rows * i / tablets).bytes());
  }
  return spec;
}

}  // namespace

Bed::Bed(BedOptions options)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? *options_.clock : system_clock_),
      pool_(clock_, {.shards = options_.shards}),
      blocking_(static_cast<int>(4 + 2 * options_.shards)),
      states_(options_.shards) {
  must(make_root_directory(options_.directory));
  open_disk();
  open_node();
  on_first([this](Shard&) { return make_table(); });
}

void Bed::open_disk() {
  const IoBackendChoice io = must(probe_io_backend(IoBackend::automatic));
  pool_.start([this, &io](Shard& shard) {
    ShardState& mine = state(shard);
    mine.fs = must(make_file_system(io.chosen, shard.loop(), options_.directory, blocking_));
    mine.runtime.emplace(shard.runtime());
    engine::LogOptions log;
    log.segment_bytes = options_.engine.log_segment_bytes;
    log.periodic_interval_us = options_.engine.periodic_interval_us;
    mine.logs = engine::make_local_log_store(*mine.fs, *mine.runtime, log);
    mine.blobs = engine::make_local_blob_store(*mine.fs, &mine.runtime->timers);
    mine.stalls = std::make_unique<StallWatch>(shard.loop(), clock_);
    if (options_.long_turn_us > 0) {
      mine.sampler = std::make_unique<TurnSampler>(shard.loop(), options_.long_turn_us);
    }
  });
}

void Bed::open_node() {
  on_first([this](Shard& shard) { return open_engine(shard); });
}

Async<void> Bed::open_engine(Shard& shard) {
  auto manifest =
      co_await engine::open_local_manifest_store(*state(shard).fs, engine::ManifestOptions());
  manifest_ = must(std::move(manifest));
  std::vector<engine::ShardEnv> envs;
  for (ShardState& one : states_) envs.push_back({*one.runtime, *one.logs, *one.blobs, &chunks_});
  auto node =
      co_await engine::Node::open(options_.engine, std::move(envs), *manifest_, pool_.mailboxes());
  node_ = must(std::move(node));
}

Async<void> Bed::make_table() {
  const engine::TableEntry* found = node_->tables(ShardId{0}).find(Bytes(kTable));
  CHECK((found != nullptr) == options_.existing, "the directory {} a table of an earlier run",
        found != nullptr ? "holds" : "does not hold");
  if (found != nullptr) {
    ranges_ = find_ranges(*found);
    co_return;
  }
  engine::TableSpec spec = table_spec(options_, kTable);
  auto made = co_await node_->create_table(ShardId{0}, std::move(spec), {});
  ranges_ = find_ranges(must(std::move(made)));
}

std::vector<std::vector<RowRange>> Bed::add_table(const std::string& name) {
  std::vector<std::vector<RowRange>> ranges;
  on_first([this, &name, &ranges](Shard&) -> Async<void> {
    engine::TableSpec spec = table_spec(options_, name);
    auto made = co_await node_->create_table(ShardId{0}, std::move(spec), {});
    ranges = find_ranges(must(std::move(made)));
  });
  return ranges;
}

std::vector<std::vector<RowRange>> Bed::find_ranges(const engine::TableEntry& table) const {
  std::vector<std::vector<RowRange>> ranges(options_.shards);
  const uint64_t count = table.tablets.size();
  for (uint64_t i = 0; i < count; ++i) {
    const engine::TabletDescriptor& tablet = table.tablets[i];
    ranges[tablet.shard.value()].push_back(
        {tablet, options_.rows * i / count, options_.rows * (i + 1) / count});
  }
  return ranges;
}

Bed::~Bed() {
  on_first([this](Shard&) -> Async<void> { must(co_await node_->close()); });
  on_first([this](Shard&) -> Async<void> {
    node_.reset();
    manifest_.reset();
    co_return;
  });
  pool_.stop({}, [this](Shard& shard) {
    ShardState& mine = state(shard);
    mine.sampler.reset();
    mine.stalls.reset();
    mine.logs.reset();
    mine.blobs.reset();
    mine.fs.reset();
  });
  blocking_.stop();
}

void Bed::flush(const std::string& table) {
  on_first([this, &table](Shard&) -> Async<void> {
    must(co_await node_->flush_table(ShardId{0}, table));
  });
}

void Bed::compact(const std::string& table) {
  on_first([this, &table](Shard&) -> Async<void> {
    must(co_await node_->compact_table(ShardId{0}, table));
  });
}

void Bed::settle() {
  constexpr int kQuietLooks = 10;
  constexpr uint64_t kQuietBytes = 64 * 1024;  // anchors of the clock are written at any time
  uint64_t seen = 0;
  uint64_t seen_lying = 0;
  for (int quiet = 0; quiet < kQuietLooks;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // A merge in progress shows in the bytes that the process writes. Files are removed in steps,
    // and a disk that gets discards may not serve requests during a step.
    const uint64_t written = ProcessCounters::now().written_bytes;
    const uint64_t lying = bytes_in(options_.directory);
    quiet = written - seen < kQuietBytes && lying == seen_lying ? quiet + 1 : 0;
    seen = written;
    seen_lying = lying;
  }
}

engine::EngineStats Bed::stats() {
  engine::EngineStats sum;
  on_first([this, &sum](Shard&) -> Async<void> {
    for (const engine::EngineStats& one : co_await node_->stats(ShardId{0})) {
      sum.tables_on_disk += one.tables_on_disk;
      sum.table_bytes += one.table_bytes;
      sum.memtable_bytes += one.memtable_bytes;
      sum.cache_bytes += one.cache_bytes;
      sum.metadata_bytes += one.metadata_bytes;
      sum.log_bytes += one.log_bytes;
      sum.commits += one.commits;
      sum.flushes += one.flushes;
      sum.compactions += one.compactions;
    }
  });
  return sum;
}

engine::ShardFigures Bed::figures() {
  engine::ShardFigures sum;
  for (uint32_t i = 0; i < options_.shards; ++i) {
    pool_.run_on(ShardId{i}, [this, &sum](Shard& shard) -> Async<void> {
      const engine::ShardFigures one = node_->engine(shard.id()).shard_figures();
      sum.cache_hits += one.cache_hits;
      sum.cache_packed_hits += one.cache_packed_hits;
      sum.cache_packed_bytes += one.cache_packed_bytes;
      sum.cache_misses += one.cache_misses;
      sum.device_reads += one.device_reads;
      sum.device_read_bytes += one.device_read_bytes;
      co_return;
    });
  }
  return sum;
}

int64_t Bed::longest_turn_us() {
  std::atomic<int64_t> longest = 0;
  pool_.run_on_all([this, &longest](Shard& shard) -> Async<void> {
    int64_t seen = longest;
    const int64_t mine = state(shard).stalls->longest_us();
    while (mine > seen && !longest.compare_exchange_weak(seen, mine)) {
    }
    co_return;
  });
  return longest;
}

engine::ReclaimReport Bed::reclaim() {
  engine::ReclaimReport report;
  on_first([this, &report](Shard&) -> Async<void> {
    report = must(co_await node_->reclaim_report(ShardId{0}, {TableId{}, 0}));
  });
  return report;
}

std::string Bed::turn_report() {
  if (options_.long_turn_us == 0) return {};
  Histogram turns;
  std::map<std::string, size_t> counts;
  for (uint32_t i = 0; i < options_.shards; ++i) {
    pool_.run_on(ShardId{i}, [&](Shard& shard) -> Async<void> {
      turns.merge(state(shard).sampler->turns());
      for (std::string& stack : state(shard).sampler->stacks()) ++counts[std::move(stack)];
      co_return;
    });
  }
  std::string out = fmt::format(
      "turns: {}; processor time of one in us: p50 {}, p99 {}, p99.9 {}, p99.99 {}, longest {}\n",
      turns.count(), turns.percentile(50), turns.percentile(99), turns.percentile(99.9),
      turns.percentile(99.99), turns.max());
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [stack, count] : counts) sorted.emplace_back(count, stack);
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [count, stack] : sorted) out += fmt::format("  {:5} {}\n", count, stack);
  return out;
}

}  // namespace cellar::bench
