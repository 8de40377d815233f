// FileRemoval: takes large files away without holding up the disk.
//
// A file system that tells its device at once what became free (mounted with `discard`) waits for
// the device, which may serve nobody else meanwhile: measured 1.1 ms a MiB, so that a table of 256
// MiB stopped every read and write of the machine for 0.3 s. Therefore a file is cut shorter from
// its end, kStepBytes at a time, one file at a time, and each step is followed by a rest. Removing
// is at work for a share of the time that follows what waits to be removed:
//
//     share = kLeastShare + (1 - kLeastShare) * min(waiting / kFullBacklogBytes, 1)
//     rest  = took * (1 / share - 1)
//
// so the level settles where as much goes as comes, and a full backlog is removed without rests.
// Without anybody to disturb there are no rests either: before begin_rests() and after hurry().
//
//   a step took 6 ms: 18 ms of rest while little waits, 6 ms at a third of the full backlog
#pragma once

#include <algorithm>
#include <string>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "io/disk/file.h"
#include "io/runtime/event.h"
#include "io/runtime/timers.h"

namespace cellar::engine {

// One shard. Held by the store and by what it made, whichever lives longer. REQUIRES before it is
// destroyed: nothing under way, or the loop runs no more.
class FileRemoval : public boost::intrusive_ref_counter<FileRemoval, boost::thread_unsafe_counter> {
 public:
  static constexpr uint64_t kStepBytes = 4u << 20;
  static constexpr double kLeastShare = 0.25;
  static constexpr uint64_t kFullBacklogBytes = 1u << 30;
  // What took longer was not the step.
  static constexpr int64_t kMostStepUs = 50'000;

  // `fs` must outlive it. Without timers it never rests.
  FileRemoval(FileSystem& fs, Timers* timers);
  FileRemoval(const FileRemoval&) = delete;
  FileRemoval& operator=(const FileRemoval&) = delete;

  // OK when absent. REQUIRES: nobody uses the file, and after a crash nobody minds finding it
  // shorter. Several may be under way; their sizes are the backlog.
  Async<Result<void>> remove(std::string path);
  // Cuts a file that somebody still writes from `size` down to `left` bytes, likewise.
  Async<Result<void>> cut(File& file, uint64_t size, uint64_t left);

  // From now on others use the disk.
  void begin_rests() { rests_ = timers_ != nullptr; }
  // Nobody does any more.
  void hurry() {
    rests_ = false;
    woken_.notify_all();
  }

  uint64_t waiting_bytes() const { return waiting_bytes_; }

  static double share(uint64_t waiting_bytes) {
    const double part = static_cast<double>(waiting_bytes) / static_cast<double>(kFullBacklogBytes);
    return kLeastShare + (1 - kLeastShare) * std::min(part, 1.0);
  }
  static int64_t rest_us(int64_t took_us, uint64_t waiting_bytes) {
    const auto took = static_cast<double>(std::clamp<int64_t>(took_us, 0, kMostStepUs));
    return static_cast<int64_t>(took * (1 / share(waiting_bytes) - 1));
  }

 private:
  Async<Result<void>> shorten(File& file);
  Async<Result<void>> step_down(File& file, uint64_t size, uint64_t left);
  Async<void> rest(int64_t took_us);

  FileSystem& fs_;
  Timers* const timers_;
  bool rests_ = false;
  uint64_t waiting_bytes_ = 0;
  AsyncMutex one_;
  Notify woken_;
};
using FileRemovalRef = boost::intrusive_ptr<FileRemoval>;

}  // namespace cellar::engine
