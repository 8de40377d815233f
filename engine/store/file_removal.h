// FileRemoval: takes large files away without holding up the disk.
//
// A file system that tells its device at once what became free (mounted with `discard`) waits for
// the device, which may serve nobody else meanwhile: measured 1.1 ms a MiB, so that a table of 256
// MiB stopped every read and write of the machine for 0.3 s. Therefore a file is cut shorter from
// its end, kStepBytes at a time, one file at a time, and each step is followed by a rest. Removing
// is at work for a share of the time that follows what waits to be removed:
//
//     share = kLeastShare + (1 - kLeastShare) * part^3,  part = min(waiting / kFullBacklogBytes, 1)
//     rest  = took * (1 / share - 1)
//
// so the level settles where as much goes as comes, and a full backlog is removed without rests.
// The cube keeps it calm after a large merge, whose inputs all end at once and may as well take ten
// seconds to go. Without anybody to disturb there are no rests either: before begin_rests() and
// after hurry().
//
// A cut is of a file that somebody writes and waits for: a flush, which the log and the memory of a
// shard wait for in turn. It goes in steps with rests too, but beside the removals and not after
// them, for a queue of tables may take seconds.
//
//   a step took 3 ms: 27 ms of rest while little waits, 11 ms at half of the full backlog
#pragma once

#include <algorithm>
#include <string>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// One shard. Held by the store and by what it made, whichever lives longer. REQUIRES before it is
// destroyed: nothing under way, or the loop runs no more.
class FileRemoval : public boost::intrusive_ref_counter<FileRemoval, boost::thread_unsafe_counter> {
 public:
  static constexpr uint64_t kStepBytes = 2u << 20;
  static constexpr double kLeastShare = 0.1;
  // About what the tables take that are removed at once (BlobReaper::kAtOnce).
  static constexpr uint64_t kFullBacklogBytes = uint64_t{2} << 30;
  // What took longer was not the step.
  static constexpr int64_t kMostStepUs = 50'000;

  // `fs` must outlive it. Without timers it never rests.
  FileRemoval(FileSystem& fs, Timers* timers);
  FileRemoval(const FileRemoval&) = delete;
  FileRemoval& operator=(const FileRemoval&) = delete;

  // OK when absent. REQUIRES: nobody uses the file, and after a crash nobody minds finding it
  // shorter. Several may be under way; their sizes are the backlog.
  Async<Result<void>> remove(std::string path);
  // Cuts a file that somebody still writes from `size` down to `left` bytes; see above.
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
    const double part =
        std::min(static_cast<double>(waiting_bytes) / static_cast<double>(kFullBacklogBytes), 1.0);
    return kLeastShare + (1 - kLeastShare) * part * part * part;
  }
  static int64_t rest_us(int64_t took_us, uint64_t waiting_bytes) {
    const auto took = static_cast<double>(std::clamp<int64_t>(took_us, 0, kMostStepUs));
    return static_cast<int64_t>(took * (1 / share(waiting_bytes) - 1));
  }

 private:
  // What one file adds to the bytes that wait, until it is gone.
  class Backlog {
   public:
    Backlog(FileRemoval& removal, uint64_t bytes) : removal_(removal), bytes_(bytes) {
      removal_.waiting_bytes_ += bytes;
    }
    ~Backlog() { removal_.waiting_bytes_ -= bytes_; }
    Backlog(const Backlog&) = delete;
    Backlog& operator=(const Backlog&) = delete;

    void done(uint64_t bytes) {
      bytes_ -= bytes;
      removal_.waiting_bytes_ -= bytes;
    }

   private:
    FileRemoval& removal_;
    uint64_t bytes_;
  };

  Async<Result<void>> shorten(File& file);
  Async<Result<void>> step_down(File& file, uint64_t size, uint64_t left, Backlog& backlog);
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
