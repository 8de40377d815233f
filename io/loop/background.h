// Background: work of a shard that may wait, beside serving, which may not. It runs on the shard's
// own loop in slices, of which a turn has one at most, however many works there are; so a request
// waits for one slice and not for more.
//
//   Background::Work work(background, BackgroundKind::merge);
//   while (there is something to do) {
//     co_await work.begin();              // my slice
//     while (there is something to do && !work.over()) do a little, 20 us at most;
//     work.end();
//     co_await what the next slice needs;
//   }
//
// Whose slice. Each kind has a backlog, from 0 (nothing to speak of) to 1 (its bound is reached),
// and from it a share of the processor:
//
//     share = kLeastShare + (kMostShare - kLeastShare) * backlog
//
// and both together have kMostOfAll at most. While serving uses all the time that it gets, a slice
// of w us is followed by at least w * (1 - share) / share us of serving. So background work goes on
// under any load, the faster the further behind it is, and what is left to serving never falls
// below 1 - kMostOfAll. While there is nothing to serve, which shows in turns that take less than
// kIdleTurnUs, it takes what it needs. Of works that wait, the one whose kind has had least for
// its share is next.
//
// A slice is kIdleSliceUs long, and kBusySliceUs if anything was served lately: then somebody may
// come who would have to wait for its end.
//
//   merges lag a little (backlog 0.2), reads come as fast as they are answered: the share of
//   merges is 0.18, so there are 100 us of merging, 456 us of reads, 100 us of merging
//
// On virtual time a turn takes none, so there is nothing but idle turns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "io/base/clock.h"
#include "io/loop/async.h"

namespace cellar {

enum class BackgroundKind : uint8_t {
  flush,  // from memory to disk: writers wait for it in the end
  merge,  // of what is on disk
};
inline constexpr size_t kBackgroundKinds = 2;

// One shard.
class Background {
 public:
  static constexpr int64_t kIdleSliceUs = 300;
  static constexpr int64_t kBusySliceUs = 100;
  static constexpr int64_t kIdleTurnUs = 8;
  static constexpr int64_t kBusyForUs = 10'000;  // after something was served
  static constexpr double kLeastShare = 0.1;
  static constexpr double kMostShare = 0.6;
  static constexpr double kMostOfAll = 0.7;
  // Of one slice no more is counted: what took longer was not the work.
  static constexpr int64_t kMostSliceUs = 2'000;
  static constexpr int64_t kBacklogEveryUs = 1'000;  // it is asked for so often at most

  // The backlog of a kind, now: 0 to 1.
  using Backlog = std::function<double(BackgroundKind)>;

  class Work {
   public:
    // Outlived by the background. `least_share`: it gets no less, whatever the backlog.
    Work(Background& background, BackgroundKind kind, double least_share = kLeastShare);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // Resumes in a slice of its own; ends the one at hand, if there is one.
    Async<void> begin();
    // The slice is used up. Reads the clock.
    bool over() const { return background_.clock_.boot_us() >= until_us_; }
    // Answers how long it was; 0 when there was none.
    int64_t end();

   private:
    friend class Background;
    Background& background_;
    const BackgroundKind kind_;
    const double least_share_;
    bool in_slice_ = false;
    uint64_t last_slice_ = 0;  // its number
    int64_t began_us_ = 0;
    int64_t until_us_ = 0;
  };

  explicit Background(const Clock& clock) : clock_(clock) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void watch(Backlog backlog) { backlog_ = std::move(backlog); }

  // The share that a backlog gives.
  static double share_of(double backlog);
  // The backlog that gives a share.
  static double backlog_of(double share) {
    return (share - kLeastShare) / (kMostShare - kLeastShare);
  }

  struct Stats {
    uint64_t slices = 0;
    int64_t worked_us = 0;
    int64_t longest_us = 0;  // slice; by the clock, so other processes' time is in it
    uint64_t put_off = 0;    // turns in which serving had its share
  };
  const Stats& stats() const { return stats_; }

 private:
  bool may_begin(Work& work, uint64_t slices_before);
  Work* next() const;
  double share(const Work& work) const;
  double share_of_all() const;
  void look(int64_t now_us);
  void began(Work& work, int64_t now_us);
  int64_t ended(Work& work, int64_t now_us);

  const Clock& clock_;
  Backlog backlog_;
  std::array<double, kBackgroundKinds> backlogs_{};
  int64_t asked_us_ = INT64_MIN / 2;
  std::vector<Work*> waiting_;
  // Of each kind, what it has had, in microseconds for a share of 1.
  std::array<double, kBackgroundKinds> had_{};
  int64_t seen_us_ = INT64_MIN / 2;    // the last look, or end of a slice
  int64_t served_us_ = INT64_MIN / 2;  // when a turn last took long
  double owed_us_ = 0;                 // to serving, before the next slice
  bool idle_ = true;                   // the last turn was
  Stats stats_;
};

}  // namespace cellar
