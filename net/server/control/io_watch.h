// IoWatch: detects a disk that does not respond to one shard. At every beat it checks the age of
// the oldest read, write or sync in flight. From kHungUs on the disk counts as hung: the node is
// not ready (readiness.h), and the log records the start and end of the hang.
#pragma once

#include <cstdint>

#include "io/disk/file.h"
#include "io/loop/mailbox.h"

namespace cellar::server {

class IoWatch {
 public:
  static constexpr int64_t kHungUs = 5'000'000;

  // Call on the shard's loop; `fs` must outlive it.
  IoWatch(FileSystem& fs, ShardId shard) : fs_(fs), shard_(shard) {}

  // `now_us`: from a steady clock. The precision is the interval between calls.
  void look(int64_t now_us);
  bool hung() const { return hung_; }
  // At the last look, never overstated; 0: nothing in flight began before the previous look.
  int64_t oldest_us() const { return oldest_us_; }

 private:
  FileSystem& fs_;
  const ShardId shard_;
  int64_t oldest_us_ = 0;
  int64_t hung_since_us_ = 0;
  bool hung_ = false;
};

}  // namespace cellar::server
