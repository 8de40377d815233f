// DiskWatch: looks four times a second how much room the disk has, on the home shard.
//
// A writer may go past the reserve by what he writes between two looks; so the reserve is to be
// more than that, and the default is.
#pragma once

#include "io/disk/file.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "net/server/limits/disk_room.h"

namespace cellar::server {

class ShardServer;

class DiskWatch {
 public:
  static constexpr int64_t kLookUs = 250'000;

  // Both outlive it. `home` tells the reserve, which a reload may change.
  DiskWatch(ShardServer& home, FileSystem& fs);
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  void start();
  // To be awaited before its end, once it was started.
  Async<void> stop();
  const DiskRoom& room() const { return room_; }

 private:
  Async<void> run();
  void tell(uint64_t free_bytes);

  ShardServer& home_;
  FileSystem& fs_;
  DiskRoom room_;
  bool short_ = false;  // as the log was told
  bool stopping_ = false;
  Notify wake_;
  Timer timer_;
  Event ended_;
};

}  // namespace cellar::server
