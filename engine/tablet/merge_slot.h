// MergeSlot: the merge that runs on a shard, and the turn of those that wait for it.
//
// Invariants
//   1. A job runs only under the lock: one at a time.
//   2. job() and tablet() are both null, or those of the running job. There is a pace only with
//   them.
//   3. A job that reclaims stops resting when another job waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

  Async<AsyncMutex::Lock> lock() { return lock_.lock(); }
  // For a job: a running one does not rest while it waits.
  Async<AsyncMutex::Lock> lock_for_job();
  // The same for reclaiming: meanwhile a merge for the shape of the tree uses all the time
  // available.
  Async<AsyncMutex::Lock> lock_to_reclaim();
  size_t reclaims_waiting() const { return reclaims_waiting_; }
  // The running job, if it reclaims, does not rest any more.
  void finish_at_once();
  // The share of the time that the running job needs, if it reclaims; otherwise 0.
  double reclaim_share() const { return pace_ != nullptr ? pace_->share() : 0; }
  MergeSpeed& speed() { return speed_; }
  const MergeSpeed& speed() const { return speed_; }

  // Announces a job for its lifetime, so that closing and dropping may cancel it. `pace`: of a job
  // that reclaims; null: the job never rests. REQUIRES: the lock.
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
  // Cancels the running job, if any; with a tablet, if it is the tablet's.
  void cancel();
  void cancel(const Tablet& tablet);
  // Cancels the running job and every later one.
  void end();

 private:
  TrustedClock& clock_;
  AsyncMutex lock_;
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
