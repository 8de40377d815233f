// FileRemoval: removes large files without blocking the disk.
//
// A file system that discards freed space at once (mount option `discard`) waits for the device,
// which may serve no other requests meanwhile: measured 1.1 ms per MiB, so that removing a table of
// 256 MiB stopped all I/O of the machine for 0.3 s. A file is therefore truncated from its end,
// kStepBytes at a time, one file at a time, with a pause after each step. The share of time spent
// on removal follows the backlog:
//
//     share = kLeastShare + (1 - kLeastShare) * part^3,  part = min(waiting / kFullBacklogBytes, 1)
//     rest  = took * (1 / share - 1)
//
// The backlog thus settles where removals keep up, and a full backlog is removed without pauses.
// The cube keeps removal slow after a large merge, whose inputs all end at once. There are no
// pauses before begin_rests() or after boost().
//
// A cut shortens a file that a writer waits for: a flush, on which the log and the memory of a
// shard wait in turn. It also uses steps with pauses, but runs beside the removals instead of after
// them, because a queue of tables may take seconds.
//
//   Example: a step took 3 ms: the pause is 27 ms with a small backlog, 11 ms at half the full one
#pragma once

#include <algorithm>
#include <string>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/rate_budget.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// One shard. Shared by the store and the objects it made. REQUIRES for destruction: nothing is in
// progress, or the loop has ended.
class FileRemoval : public boost::intrusive_ref_counter<FileRemoval, boost::thread_unsafe_counter> {
 public:
  static constexpr uint64_t kStepBytes = 2u << 20;
  static constexpr double kLeastShare = 0.1;
  // Approximate size of the tables removed at once (ObsoleteBlobDeleter::kAtOnce).
  static constexpr uint64_t kFullBacklogBytes = uint64_t{2} << 30;
  // A step counts for at most this; the rest was other work.
  static constexpr int64_t kMostStepUs = 50'000;

  // `fs` must outlive it. Without timers there are no pauses.
  FileRemoval(FileSystem& fs, Timers* timers);
  FileRemoval(const FileRemoval&) = delete;
  FileRemoval& operator=(const FileRemoval&) = delete;

  // OK if absent. REQUIRES: the file is not in use, and may be found shorter after a crash.
  // Concurrent calls are allowed; their sizes add up to the backlog.
  Async<Result<void>> remove(std::string path);
  // Truncates a file in use by a writer from `size` to `left` bytes; see above.
  Async<Result<void>> cut(File& file, uint64_t size, uint64_t left);

  // Other work uses the disk from now on.
  void begin_rests() { rests_ = timers_ != nullptr; }
  // No other work uses the disk any more.
  void boost() {
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
    return static_cast<int64_t>(cellar::rest_us(took, share(waiting_bytes)));
  }

 private:
  // A file's share of the backlog, until it is removed.
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
  ConditionVariable woken_;
};
using FileRemovalRef = boost::intrusive_ptr<FileRemoval>;

}  // namespace cellar::engine
