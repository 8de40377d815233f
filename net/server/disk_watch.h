// DiskWatch: checks the free disk space four times a second on the home shard.
//
// Writes between two checks may exceed the limit, so the reserve must be larger than their volume;
// the default is.
#pragma once

#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "net/server/limits/disk_room.h"

namespace cellar::server {

class LocalShard;

class DiskWatch {
 public:
  static constexpr int64_t kLookUs = 250'000;

  // Both must outlive it. `home` supplies the reserve, which a reload may change.
  DiskWatch(LocalShard& home, FileSystem& fs);
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  void start();
  // Must be awaited before destruction if it was started.
  Async<void> stop();
  const DiskRoom& room() const { return room_; }

 private:
  Async<void> run();
  void tell(uint64_t free_bytes);

  LocalShard& home_;
  FileSystem& fs_;
  DiskRoom room_;
  bool short_ = false;  // last state logged
  bool stopping_ = false;
  ConditionVariable wake_;
  Timer timer_;
  Event ended_;
};

}  // namespace cellar::server
