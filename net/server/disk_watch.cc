#include "net/server/disk_watch.h"

#include "io/base/log.h"
#include "net/server/shard/local_shard.h"

namespace cellar::server {

DiskWatch::DiskWatch(LocalShard& home, FileSystem& fs)
    : home_(home),
      fs_(fs),
      timer_(
          home.timers(), [](void* self) { static_cast<DiskWatch*>(self)->wake_.notify_all(); },
          this) {}

void DiskWatch::start() { spawn(home_.executor(), run()); }

Async<void> DiskWatch::run() {
  while (!stopping_) {
    const Result<uint64_t> free = co_await fs_.free_bytes();
    if (!free && room_.free_bytes() != DiskRoom::kUnknown) {
      log_warn("server", "room on the disk is not known error=\"{}\"", free.error().message);
    }
    tell(free.value_or(DiskRoom::kUnknown));
    if (stopping_) break;
    timer_.arm_after_us(kLookUs);
    co_await wake_.wait();
  }
  ended_.set();
}

void DiskWatch::tell(uint64_t free_bytes) {
  room_.saw(free_bytes);
  const uint64_t reserve = home_.options().disk.reserve_bytes;
  if (room_.is_short(reserve) == short_) return;
  short_ = !short_;
  if (short_) {
    log_warn("server", "disk is short, only deletes are taken free_bytes={} reserve_bytes={}",
             free_bytes, reserve);
  } else {
    log_info("server", "disk has room again free_bytes={} reserve_bytes={}", free_bytes, reserve);
  }
}

Async<void> DiskWatch::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await ended_.wait();
}

}  // namespace cellar::server
