// Background: scheduler of a shard's background work beside serving. Work runs on the shard's loop
// in slices, at most one per turn in total, so a request waits for one slice at most.
//
//   Background::Work work(background, BackgroundKind::merge);
//   while (there is something to do) {
//     co_await work.begin();              // my slice
//     while (there is something to do && !work.over()) do a little, 20 us at most;
//     work.end();
//     co_await what the next slice needs;
//   }
//
// Shares. Each kind has a backlog from 0 (negligible) to 1 (its bound is reached), which gives its
// share of the processor:
//
//     share = kLeastShare + (kMostShare - kLeastShare) * backlog
//
// Both kinds together have at most kMostOfAll. While serving uses all its time, a slice of w us is
// followed by at least w * (1 - share) / share us of serving. Background work therefore progresses
// under any load, faster with a larger backlog, and serving keeps at least 1 - kMostOfAll. While
// there is nothing to serve (turns take less than kIdleTurnUs) background work takes all it needs.
// Among waiting works the next slice goes to the kind that had least for its share.
//
// A slice lasts kIdleSliceUs, or kBusySliceUs if requests were served recently and others may soon
// wait for its end.
//
//   Example: merge backlog 0.2, reads at full load. The share of merges is 0.2: 100 us of merging,
//   400 us of reads, 100 us of merging, and so on.
//
// On virtual time a turn takes no time, so all turns are idle.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "io/base/clock.h"
#include "io/loop/async.h"

namespace cellar {

enum class BackgroundKind : uint8_t {
  flush,  // memory to disk; writers eventually wait for it
  merge,  // compaction of tables on disk
};
inline constexpr size_t kBackgroundKinds = 2;

// One per shard.
class Background {
 public:
  static constexpr int64_t kIdleSliceUs = 300;
  static constexpr int64_t kBusySliceUs = 100;
  static constexpr int64_t kIdleTurnUs = 8;
  static constexpr int64_t kBusyForUs = 10'000;  // after serving
  static constexpr double kLeastShare = 0.1;
  static constexpr double kMostShare = 0.6;
  static constexpr double kMostOfAll = 0.7;
  // A slice counts for at most this; a longer one was preempted.
  static constexpr int64_t kMostSliceUs = 2'000;
  static constexpr int64_t kBacklogEveryUs = 1'000;  // at most this often

  // The present backlog of a kind: 0 to 1.
  using Backlog = std::function<double(BackgroundKind)>;

  class Work {
   public:
    // `background` must outlive this.
    Work(Background& background, BackgroundKind kind) : background_(background), kind_(kind) {}
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // Resumes at the start of a new slice. Ends the current slice, if any.
    Async<void> begin();
    // Whether the slice is used up. Reads the clock.
    bool over() const { return background_.clock_.boot_us() >= until_us_; }
    // Ends the slice and returns its length; 0 if there was none.
    int64_t end();

   private:
    friend class Background;
    Background& background_;
    const BackgroundKind kind_;
    bool in_slice_ = false;
    uint64_t last_slice_ = 0;  // its number
    int64_t began_us_ = 0;
    int64_t until_us_ = 0;
  };

  explicit Background(const Clock& clock) : clock_(clock) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void watch(Backlog backlog) { backlog_ = std::move(backlog); }

  // The share for a backlog.
  static double share_of(double backlog);
  // The backlog for a share.
  static double backlog_of(double share) {
    return (share - kLeastShare) / (kMostShare - kLeastShare);
  }

  struct Stats {
    uint64_t slices = 0;
    int64_t worked_us = 0;
    int64_t longest_us = 0;  // longest slice on the clock, including time taken by other processes
    uint64_t put_off = 0;    // turns deferred because serving was owed time
  };
  const Stats& stats() const { return stats_; }

  // Whether there was nothing to serve in the turn before the last slice. Tells the load only if
  // that slice followed another one at once; work that can wait takes several such looks.
  bool turn_was_idle() const { return idle_; }

 private:
  bool may_begin(Work& work, uint64_t slices_before);
  Work* next() const;
  double share(BackgroundKind kind) const;
  double share_of_all() const;
  void look(int64_t now_us);
  void began(Work& work, int64_t now_us);
  int64_t ended(Work& work, int64_t now_us);

  const Clock& clock_;
  Backlog backlog_;
  std::array<double, kBackgroundKinds> backlogs_{};
  int64_t asked_us_ = INT64_MIN / 2;
  std::vector<Work*> waiting_;
  // Microseconds used by each kind, divided by its share.
  std::array<double, kBackgroundKinds> had_{};
  int64_t seen_us_ = INT64_MIN / 2;    // the last look or end of a slice
  int64_t served_us_ = INT64_MIN / 2;  // the last long turn
  double owed_us_ = 0;                 // owed to serving before the next slice
  bool idle_ = true;                   // the last turn was idle
  Stats stats_;
};

}  // namespace cellar
