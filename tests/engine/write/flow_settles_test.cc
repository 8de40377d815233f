// Writing and merging reach a balance in which neither stops: one shard under writers at full rate,
// on simulated time, with the engine's own picker, flow control and processor shares. Data is
// represented by sizes, work by its time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>
#include <vector>

#include "engine/compaction/picker.h"
#include "engine/engine.h"
#include "engine/write/flow_control.h"
#include "io/loop/background.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

constexpr double kMiB = 1u << 20;
constexpr size_t kGroupBytes = 8192;  // each represents the commits of some tens of microseconds
constexpr size_t kInFlight = 64;
constexpr double kMemtableBytes = 64 * kMiB;
constexpr double kOnDisk = 0.45;  // size on disk relative to the size in memory
constexpr size_t kMostFrozen = 2;
constexpr double kMostRunsBehind = 24;  // as in shard_engine.cc

// The rate of a shard's processor, by kind of work, if it does only that.
struct Speeds {
  double serve = 140 * kMiB;  // bytes of commits
  double flush = 400 * kMiB;  // bytes of memtables
  double merge = 200 * kMiB;  // bytes read
};

class ShardUnderLoad {
 public:
  // Rows are overwritten at random: fully merged, they are `live` bytes on disk.
  ShardUnderLoad(const Speeds& speeds, double live) : speeds_(speeds), live_(live) {
    flow_.watch([this] { return levels(); });
    runs_.push_back(live);
    for (int i = 0; i < 2000; ++i) writers_.note_commit(kGroupBytes);
    for (size_t i = 0; i < kInFlight; ++i) {
      Write& write = writes_.emplace_back();
      write.context = this;
      write.done = [](Write& done) { static_cast<ShardUnderLoad*>(done.context)->answered(done); };
      free_.push_back(&write);
    }
  }
  ~ShardUnderLoad() { world_.crash(); }

  // Bytes answered in each second.
  std::vector<double> run(int seconds) {
    std::vector<double> answered;
    for (int s = 0; s < seconds; ++s) {
      const double before = answered_bytes_;
      for (int ms = 0; ms < 1000; ++ms) step();
      answered.push_back(answered_bytes_ - before);
    }
    return answered;
  }
  size_t most_behind() const { return most_behind_; }

 private:
  struct Merge {
    RunWindow window;
    double left = 0;
  };

  FlowLevels levels() const {
    const double bytes = active_ + static_cast<double>(frozen_) * kMemtableBytes;
    return {.memtable_bytes = static_cast<uint64_t>(bytes),
            .memtable_bound = static_cast<uint64_t>(16 * kMemtableBytes)};
  }
  void answered(Write& write) {
    answered_bytes_ += kGroupBytes;
    free_.push_back(&write);
  }

  std::vector<uint64_t> sizes() const { return {runs_.begin(), runs_.end()}; }
  size_t behind() const {
    const size_t allowed = allowed_runs(sizes());
    return runs_.size() > allowed ? runs_.size() - allowed : 0;
  }

  // A millisecond: background work gets its shares, serving the rest, and background work also gets
  // what serving leaves.
  void step() {
    const auto late = static_cast<double>(behind());
    const double flush =
        frozen_ > 0 ? Background::share_of(static_cast<double>(frozen_) / kMostFrozen) : 0;
    const double merge = merge_ ? Background::share_of(late / kMostRunsBehind) : 0;
    const double all = std::min(flush + merge, Background::kMostOfAll);
    const double served = serve((1 - all) / 1000);
    if (flush + merge > 0) {
      const double left = 1.0 / 1000 - served;
      work_on_flush(left * flush / (flush + merge));
      work_on_merge(left * merge / (flush + merge));
    }
    begin_merge();
    world_.run_for_us(1000);
  }

  // Serves for at most this long; returns the time used.
  double serve(double seconds) {
    owed_ = std::min(owed_ + seconds, 2 * seconds);
    const double before = owed_;
    while (owed_ > 0 && !free_.empty()) {
      Write& write = *free_.front();
      free_.pop_front();
      owed_ -= kGroupBytes / speeds_.serve;
      active_ += kGroupBytes;
      writers_.answer(write);
    }
    if (active_ >= kMemtableBytes) {
      active_ -= kMemtableBytes;
      if (frozen_++ == 0) began_us_ = world_.now_us();
    }
    return std::min(before - owed_, seconds);
  }

  void work_on_flush(double seconds) {
    if (frozen_ == 0) return;
    flushed_ += seconds * speeds_.flush;
    if (flushed_ < kMemtableBytes) return;
    flushed_ = 0;
    --frozen_;
    flow_.flushed(static_cast<uint64_t>(kMemtableBytes), world_.now_us() - began_us_);
    began_us_ = world_.now_us();
    runs_.push_back(kMemtableBytes * kOnDisk);
    note_runs();
  }

  void work_on_merge(double seconds) {
    if (!merge_) return;
    merge_->left -= seconds * speeds_.merge;
    if (merge_->left > 0) return;
    const auto first = runs_.begin() + static_cast<ptrdiff_t>(merge_->window.first);
    const auto end = first + static_cast<ptrdiff_t>(merge_->window.count);
    double missing = 1;
    for (auto run = first; run != end; ++run) missing *= 1 - std::min(1.0, *run / live_);
    *first = live_ * (1 - missing);
    runs_.erase(first + 1, end);
    merge_.reset();
    note_runs();
  }

  void begin_merge() {
    if (merge_) return;
    const auto window = pick_merge(sizes());
    if (!window) return;
    merge_ = Merge{*window};
    for (size_t i = 0; i < window->count; ++i) merge_->left += runs_[window->first + i];
  }

  void note_runs() {
    most_behind_ = std::max(most_behind_, behind());
    writers_.set_runs_behind(behind());
  }

  const Speeds speeds_;
  const double live_;
  SimWorld world_{1};
  SimLoop& loop_{world_.add_loop()};
  FlowControl flow_{loop_.timers()};
  FlowControl::Writers writers_{flow_};
  std::deque<Write> writes_;
  std::deque<Write*> free_;
  double owed_ = 0;  // time owed to serving
  double answered_bytes_ = 0;
  double active_ = 0;
  size_t frozen_ = 0;
  double flushed_ = 0;  // bytes flushed of the oldest frozen memtable
  int64_t began_us_ = 0;
  std::vector<double> runs_;  // oldest first
  std::optional<Merge> merge_;
  size_t most_behind_ = 0;
};

TEST(FlowSettles, NoSecondFallsBelowHalfOfTheMedianHoweverFastMergesAre) {
  for (const double merge : {140.0, 200.0, 260.0}) {
    for (const double live : {300.0, 730.0, 3000.0}) {
      ShardUnderLoad shard({.merge = merge * kMiB}, live * kMiB);
      (void)shard.run(20);
      std::vector<double> seconds = shard.run(300);
      std::sort(seconds.begin(), seconds.end());
      const double median = seconds[seconds.size() / 2];
      std::printf("[ %.0f MiB/s, %.0f MiB ] slowest %.2f, behind %zu\n", merge, live,
                  seconds.front() / median, shard.most_behind());
      EXPECT_GE(seconds.front() / median, 0.55)
          << merge << " MiB/s, " << live << " MiB, " << shard.most_behind() << " runs behind";
      EXPECT_GT(shard.most_behind(), 6u) << "merging was never behind";
    }
  }
}

}  // namespace
}  // namespace cellar::engine
