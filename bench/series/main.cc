// Time series on a simulated clock: a number of series get a value each in turn, for a number of
// days; a rule lets cells live for one day. Measures the bytes written, the size on disk, and the
// blocks that a read of a hundredth of the time visits.
//
//   cellar-bench-series --dir DIR [--days 30] [--cells 1000000] [--series 100]
//                       [--memtable-kib 1024] [--compaction automatic] [--day 4]
//
// --cells is the number per day. A day takes --day real seconds at least: the clock is simulated,
// the work is not; with 0 a day's work arrives at once. One shard. Prints one line of JSON.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "bench/embedded/bed.h"
#include "bench/embedded/dataset.h"
#include "bench/embedded/process_counters.h"
#include "bench/embedded/random_reads.h"
#include "bench/embedded/tally.h"
#include "bench/series/table_blocks.h"
#include "engine/read/scan.h"
#include "engine/shard_figures.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "io/loop/event.h"

namespace cellar::bench {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kStartUs = 20'000 * kDayUs;
constexpr size_t kInFlight = 64;
constexpr size_t kValueBytes = 100;
constexpr int kStretches = 10;  // number of ranges read

struct Options {
  std::string directory;
  int64_t days = 30;
  int64_t cells = 1'000'000;  // a day
  int64_t series = 100;
  size_t memtable_kib = 1024;
  double late = 0;  // share of cells that are up to half a day late
  std::string compaction = "automatic";
  double day_seconds = 4;
};

// The time is the amount written so far, on every shard.
class WrittenClock final : public Clock {
 public:
  int64_t wall_us() const override { return now_us_; }
  int64_t boot_us() const override { return now_us_ - kStartUs + 1; }
  std::string boot_id() const override { return "simulated"; }
  void set_us(int64_t us) { now_us_ = us; }

 private:
  std::atomic<int64_t> now_us_ = kStartUs;
};

// Writes all cells of all days, kInFlight at a time, and advances the clock with them.
class Appender final : public LoopHook {
 public:
  Appender(Shard& shard, Bed& bed, const Options& options, WrittenClock& clock)
      : shard_(shard),
        engine_(bed.node().engine(shard.id())),
        tablet_(bed.ranges_of(shard.id()).front().tablet),
        options_(options),
        clock_(clock),
        total_(options.days * options.cells),
        alarm_(shard.timers(), [](void*) {}, nullptr) {
    for (size_t i = 0; i < kInFlight; ++i) {
      Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
      slot.owner = this;
      slot.write.done = &Appender::done;
      slot.write.context = &slot;
      slot.write.level = Durability::periodic;
      slot.write.tablet = tablet_.id;
      slot.write.epoch = tablet_.epoch;
      slot.cell.family = "f";
      slot.cell.qualifier = "q";
      free_.push_back(&slot);
    }
    shard_.loop().add_hook(*this);
  }
  ~Appender() override { shard_.loop().remove_hook(*this); }

  Async<void> run() {
    alarm_.arm_after_us(0);
    co_await finished_.wait();
    alarm_.cancel();
  }

  bool on_turn() override {
    if (finished_.is_set()) return false;
    bool any = false;
    const int64_t now_ns = steady_ns();
    while (!refused_.empty() && now_ns >= retry_ns_) {
      Slot& slot = *refused_.back();
      refused_.pop_back();
      engine_.submit(slot.write);
      any = true;
    }
    const int64_t due = due_by(now_ns);
    while (!free_.empty() && begun_ < due) {
      Slot& slot = *free_.back();
      free_.pop_back();
      begin(slot);
      any = true;
    }
    if (begun_ == total_ && free_.size() == slots_.size()) finished_.set();
    const bool waits = !refused_.empty() || (begun_ == due && begun_ < total_);
    if (waits && !alarm_.armed()) alarm_.arm_after_us(Timers::kTickUs);
    return any;
  }
  uint64_t refused() const { return refusals_; }

 private:
  struct Slot {
    Appender* owner = nullptr;
    engine::Write write;
    RowKey key;
    Mutation cell;
  };

  // The number of cells that should be written by then.
  int64_t due_by(int64_t now_ns) const {
    if (options_.day_seconds == 0) return total_;
    const double days = static_cast<double>(now_ns - from_ns_) / 1e9 / options_.day_seconds;
    return std::min(total_, static_cast<int64_t>(days * static_cast<double>(options_.cells)) + 1);
  }
  void begin(Slot& slot) {
    const int64_t now_us =
        kStartUs + static_cast<int64_t>(static_cast<double>(begun_) * static_cast<double>(kDayUs) /
                                        static_cast<double>(options_.cells));
    clock_.set_us(now_us);
    slot.key.set(static_cast<uint64_t>(begun_ % options_.series));
    slot.cell.timestamp_us = now_us;
    const bool late =
        options_.late > 0 && static_cast<double>(random_.below(1'000'000)) < options_.late * 1e6;
    if (late) slot.cell.timestamp_us -= static_cast<int64_t>(random_.below(kDayUs / 2));
    slot.cell.value = values_.next(kValueBytes);
    slot.write.mutation = {slot.key.bytes(), {&slot.cell, 1}};
    ++begun_;
    engine_.submit(slot.write);
  }
  static void done(engine::Write& write) {
    Slot& slot = *static_cast<Slot*>(write.context);
    Appender& self = *slot.owner;
    if (!write.error) return self.free_.push_back(&slot);
    CHECK(write.error->code == Errc::resource_exhausted, "{}", write.error->to_string());
    write.error.reset();
    ++self.refusals_;
    self.retry_ns_ = steady_ns() + 1'000'000;
    self.refused_.push_back(&slot);
  }

  Shard& shard_;
  engine::Engine& engine_;
  const engine::TabletDescriptor tablet_;
  const Options& options_;
  WrittenClock& clock_;
  const int64_t total_;
  Random random_{7};
  ValueSource values_{1};
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::vector<Slot*> refused_;
  const int64_t from_ns_ = steady_ns();
  int64_t retry_ns_ = 0;
  int64_t begun_ = 0;
  uint64_t refusals_ = 0;
  Timer alarm_;
  Event finished_;
};

struct Sample {
  double table_bytes;
  double log_bytes;
  double live_cells;
};

class Program {
 public:
  explicit Program(Options options) : options_(std::move(options)) {
    bed_options_.directory = options_.directory;
    bed_options_.shards = 1;
    bed_options_.rule = RetentionRule::max_age_us(kDayUs);
    bed_options_.compaction = options_.compaction == "tiered"        ? Compaction::tiered
                              : options_.compaction == "time-window" ? Compaction::time_window
                                                                     : Compaction::automatic;
    bed_options_.clock = &clock_;
    bed_options_.engine.memtable_bytes = options_.memtable_kib << 10;
    bed_options_.engine.log_segment_bytes = std::max<size_t>(options_.memtable_kib << 10, 1u << 20);
    bed_options_.engine.clock_permit_us = 400 * kDayUs;  // no anchors in the simulated days
    bed_options_.engine.clock_renew_us = 0;
    bed_.emplace(bed_options_);
  }

  void run() {
    append();
    figures();
    space();
    bed_options_.existing = true;
    read_blocks();
    read_times();
    fmt::print("{}\n", boost::json::serialize(out_));
  }

 private:
  void on_shard(const ShardPool::Work& work) { bed_->pool().run_on(ShardId{0}, work); }

  void append() {
    const ProcessCounters before = ProcessCounters::now();
    const int64_t from_ns = steady_ns();
    std::jthread watch([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        sample();
      }
    });
    uint64_t refused = 0;
    on_shard([this, &refused](Shard& shard) -> Async<void> {
      Appender appender(shard, *bed_, options_, clock_);
      co_await appender.run();
      refused = appender.refused();
    });
    watch.request_stop();
    watch.join();
    const double seconds = static_cast<double>(steady_ns() - from_ns) / 1e9;
    const ProcessCounters after = ProcessCounters::now();
    out_["compaction"] = options_.compaction;
    out_["days"] = options_.days;
    out_["cells_a_day"] = options_.cells;
    out_["cells_per_second"] = static_cast<double>(options_.days * options_.cells) / seconds;
    out_["refused"] = refused;
    out_["processor_s"] = after.processor_s - before.processor_s;
    out_["device_written_bytes"] = after.written_bytes - before.written_bytes;
  }

  void sample() {
    const engine::EngineStats stats = bed_->stats();
    const int64_t passed_us = clock_.wall_us() - kStartUs;
    if (passed_us < 2 * kDayUs) return;  // not in the steady state yet
    samples_.push_back({static_cast<double>(stats.table_bytes),
                        static_cast<double>(stats.log_bytes), static_cast<double>(options_.cells)});
  }

  void figures() {
    bed_->flush();
    on_shard([this](Shard& shard) -> Async<void> {
      const engine::ShardFigures f = bed_->node().engine(shard.id()).shard_figures();
      flushed_ = static_cast<double>(f.flushed_bytes);
      out_["flushed_bytes"] = f.flushed_bytes;
      out_["compacted_bytes"] = f.compacted_bytes;
      out_["write_amplification"] = (flushed_ + static_cast<double>(f.compacted_bytes)) / flushed_;
      auto all = co_await bed_->node().tablet_figures(shard.id(), TableId{});
      CHECK(all.has_value(), "{}", all.error().to_string());
      constexpr const char* kNames[] = {"automatic", "tiered", "time-window"};
      out_["at_work"] = kNames[static_cast<size_t>(all->front().compaction)];
      out_["runs"] = all->front().runs;
    });
    const engine::EngineStats stats = bed_->stats();
    out_["flushes"] = stats.flushes;
    out_["compactions"] = stats.compactions;
  }

  // The live bytes are those of one day's cells when they were flushed.
  void space() {
    const double cell_bytes = flushed_ / static_cast<double>(options_.days * options_.cells);
    double peak = 0;
    double sum = 0;
    double log = 0;
    for (const Sample& sample : samples_) {
      const double ratio = sample.table_bytes / (sample.live_cells * cell_bytes);
      peak = std::max(peak, ratio);
      sum += ratio;
      log = std::max(log, sample.log_bytes);
    }
    out_["live_bytes"] = static_cast<double>(options_.cells) * cell_bytes;
    out_["space_peak"] = peak;
    out_["space_mean"] = samples_.empty() ? 0 : sum / static_cast<double>(samples_.size());
    out_["most_log_bytes"] = log;
  }

  ReadSpec stretch(int64_t from_us, int64_t to_us) const {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.time_range = {from_us, to_us};
    return spec;
  }
  uint64_t read(const ReadSpec& spec) {
    CountCells count;
    on_shard([this, &spec, &count](Shard& shard) -> Async<void> {
      const engine::TabletDescriptor& tablet = bed_->ranges_of(shard.id()).front().tablet;
      auto cursor = bed_->node().engine(shard.id()).open_scan(tablet.id, tablet.epoch, spec);
      CHECK(cursor.has_value(), "{}", cursor.error().to_string());
      while (true) {
        const engine::ScanStep step = (*cursor)->run(count);
        if (step == engine::ScanStep::done) break;
        CHECK(step != engine::ScanStep::failed, "{}", (*cursor)->error().to_string());
        if (step == engine::ScanStep::blocked) co_await (*cursor)->load();
      }
    });
    return count.cells;
  }
  // Bytes from the device, with an empty cache: the blocks, the padding to whole sectors, and
  // unneeded read-ahead.
  uint64_t bytes_read_for(const ReadSpec& spec) {
    bed_.reset();
    bed_.emplace(bed_options_);
    const uint64_t before = device_read_bytes();
    (void)read(spec);
    return device_read_bytes() - before;
  }
  uint64_t device_read_bytes() {
    uint64_t bytes = 0;
    on_shard([this, &bytes](Shard& shard) -> Async<void> {
      bytes = bed_->node().engine(shard.id()).shard_figures().device_read_bytes;
      co_return;
    });
    return bytes;
  }

  void read_blocks() {
    bed_.reset();
    const TableBlocks all = count_table_blocks(options_.directory);
    const int64_t now_us = clock_.wall_us();
    double touched = 0;
    for (int64_t i = 0; i < kStretches; ++i) {
      const int64_t from_us = now_us - kDayUs + i * (kDayUs / kStretches);
      touched += static_cast<double>(bytes_read_for(stretch(from_us, from_us + kDayUs / 100)));
    }
    out_["blocks"] = all.blocks;
    out_["blocks_touched_share"] = touched / kStretches / static_cast<double>(all.bytes);
  }

  // Cached: one series, a hundredth of the time, and an absent row.
  void read_times() {
    (void)read(stretch(0, INT64_MAX));
    Random random(3);
    const auto series = [this, &random] {
      const RowKey key(random.below(static_cast<uint64_t>(options_.series)));
      return std::string(key.bytes());
    };
    out_["read_stretch_us"] = time_reads([&](ReadSpec& spec) {
      const std::string row = series();
      spec.rows.add({row, row + '\0'});
      const int64_t ago_us = static_cast<int64_t>(random.below(kDayUs / 100 * 98)) + kDayUs / 100;
      spec.time_range.start_us = clock_.wall_us() - ago_us;
      spec.time_range.end_us = spec.time_range.start_us + kDayUs / 100;
    });
    out_["read_absent_us"] = time_reads([&](ReadSpec& spec) {
      const std::string row = series() + '1';
      spec.rows.add({row, row + '\0'});
    });
  }
  double time_reads(const std::function<void(ReadSpec&)>& make) {
    constexpr int kReads = 3000;
    int64_t took_ns = 0;
    on_shard([&](Shard& shard) -> Async<void> {
      const engine::TabletDescriptor& tablet = bed_->ranges_of(shard.id()).front().tablet;
      const int64_t from_ns = steady_ns();
      for (int i = 0; i < kReads; ++i) {
        ReadSpec spec;
        make(spec);
        spec.rows.normalize();
        CountCells count;
        auto cursor = bed_->node().engine(shard.id()).open_scan(tablet.id, tablet.epoch, spec);
        while (true) {
          const engine::ScanStep step = (*cursor)->run(count);
          if (step == engine::ScanStep::done) break;
          if (step == engine::ScanStep::blocked) co_await (*cursor)->load();
        }
      }
      took_ns = steady_ns() - from_ns;
    });
    return static_cast<double>(took_ns) / 1e3 / kReads;
  }

  const Options options_;
  WrittenClock clock_;
  BedOptions bed_options_;
  std::optional<Bed> bed_;
  std::vector<Sample> samples_;
  double flushed_ = 0;
  boost::json::object out_;
};

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) {
  cellar::bench::Options options;
  CLI::App app("Time series on a simulated clock: bytes written, bytes on disk, blocks read.");
  app.add_option("--dir", options.directory, "a directory that does not exist yet")->required();
  app.add_option("--days", options.days, "of data; cells live for one")->check(CLI::Range(3, 365));
  app.add_option("--cells", options.cells, "a day")->check(CLI::Range(1000, 100'000'000));
  app.add_option("--series", options.series, "rows")->check(CLI::Range(1, 10'000'000));
  app.add_option("--memtable-kib", options.memtable_kib, "flushed when so large");
  app.add_option("--late", options.late, "share of cells that come up to half a day late");
  app.add_option("--day", options.day_seconds, "least duration of a day in real seconds; 0: none")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--compaction", options.compaction, "of the table")
      ->check(CLI::IsMember({"automatic", "tiered", "time-window"}));
  CLI11_PARSE(app, argc, argv);
  cellar::set_log_level(cellar::LogLevel::error);  // the jumps of the clock look like stalls
  std::filesystem::remove_all(options.directory);
  cellar::bench::Program(std::move(options)).run();
  return 0;
}
