// IoWatch: whether the disk answers one shard. It looks at every beat of the shard how old the
// oldest read, write or sync in flight is. From kHungUs on the disk hangs: the node is not ready
// (readiness.h), and the log tells when a hang begins and ends, once each.
#pragma once

#include <cstdint>

#include "io/disk/file.h"
#include "io/loop/mailbox.h"

namespace cellar::server {

class IoWatch {
 public:
  static constexpr int64_t kHungUs = 5'000'000;

  // On the shard's loop; `fs` outlives it.
  IoWatch(FileSystem& fs, ShardId shard) : fs_(fs), shard_(shard) {}

  // `now_us`: of a steady clock. Accurate to the time between two looks.
  void look(int64_t now_us);
  bool hung() const { return hung_; }
  // As of the last look; 0: nothing is in flight for longer than since the look before.
  int64_t oldest_us() const { return oldest_us_; }

 private:
  FileSystem& fs_;
  const ShardId shard_;
  int64_t oldest_us_ = 0;
  int64_t hung_since_us_ = 0;
  bool hung_ = false;
};

}  // namespace cellar::server
