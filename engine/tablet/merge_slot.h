// MergeSlot: the merge that runs on a shard, and the turn of those that wait for it.
//
// Invariants
//   1. A job runs only in a turn: one at a time, in the order in which they asked.
//   2. job() and tablet() are both null, or those of the running job. There is a pace only with
//   them.
//   3. A job that reclaims stops resting when another job waits.
//   4. A job of a tablet that is gone does not wait: a drop, split, merge or move of a tablet ends
//   while the merge of another one runs, however long that takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "engine/compaction/merge_job.h"
#include "engine/compaction/merge_speed.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class Tablet;

class MergeSlot {
 public:
  explicit MergeSlot(const Runtime& runtime) : clock_(runtime.clock) {}

  // A job may run until this is destroyed. The slot must outlive it.
  class [[nodiscard]] Turn {
   public:
    explicit Turn(MergeSlot& slot) : slot_(&slot) {}
    Turn(Turn&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (slot_ != nullptr) slot_->end_turn();
    }

   private:
    MergeSlot* slot_;
  };
  // The turn of a job of that tablet, whose gate the caller has passed: a running job does not rest
  // while it waits. ABORTED: the tablet is obsolete.
  Async<Result<Turn>> turn(const Tablet& tablet);
  // The same for reclaiming: meanwhile a merge for the shape of the tree uses all the time
  // available.
  Async<Result<Turn>> turn_to_reclaim(const Tablet& tablet);
  size_t reclaims_waiting() const { return reclaims_waiting_; }
  // The running job, if it reclaims, does not rest any more.
  void finish_at_once();
  // The share of the time that the running job needs, if it reclaims; otherwise 0.
  double reclaim_share() const { return pace_ != nullptr ? pace_->share() : 0; }
  MergeSpeed& speed() { return speed_; }
  const MergeSpeed& speed() const { return speed_; }

  // Announces a job for its lifetime, so that closing and dropping may cancel it. `pace`: of a job
  // that reclaims; null: the job never rests. REQUIRES: a turn.
  class Running {
   public:
    Running(MergeSlot& slot, const Tablet& tablet, MergeJob& job, Pace* pace,
            std::vector<BlobId> inputs);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    MergeSlot& slot_;
  };
  const MergeJob* job() const { return job_; }
  const Tablet* tablet() const { return tablet_; }
  int64_t began_us() const { return began_us_; }  // trusted time
  bool has_input(BlobId blob) const {
    return std::find(inputs_.begin(), inputs_.end(), blob) != inputs_.end();
  }
  // Cancels the running job, if any; with a tablet, if it is the tablet's, and those of its jobs
  // that wait. REQUIRES: the tablet is obsolete.
  void cancel();
  void cancel(const Tablet& tablet);
  // Cancels the running job and every later one.
  void end();

 private:
  void end_turn();

  TrustedClock& clock_;
  bool taken_ = false;            // a turn is in use
  std::deque<uint64_t> tickets_;  // of the waiting jobs, in order
  uint64_t next_ticket_ = 0;
  ConditionVariable changed_;  // a turn has ended, or a tablet is obsolete
  MergeJob* job_ = nullptr;
  const Tablet* tablet_ = nullptr;
  std::vector<BlobId> inputs_;
  int64_t began_us_ = 0;
  Pace* pace_ = nullptr;
  MergeSpeed speed_;
  size_t reclaims_waiting_ = 0;
  bool ended_ = false;
};

}  // namespace cellar::engine
