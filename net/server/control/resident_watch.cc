#include "net/server/control/resident_watch.h"

#include <algorithm>
#include <utility>

namespace cellar::server {

ResidentWatch::ResidentWatch(Timers& timers, ProcessMemory& memory, uint64_t total_bytes,
                             uint32_t shards, Withhold withhold)
    : memory_(memory),
      total_bytes_(total_bytes),
      target_bytes_(total_bytes / 16 * kTargetSixteenths),
      shards_(shards),
      withhold_(std::move(withhold)),
      timer_(
          timers,
          [](void* self) {
            auto& watch = *static_cast<ResidentWatch*>(self);
            watch.timer_.arm_after_us(watch.look());
          },
          this) {
  timer_.arm_after_us(kFarUs);
}

int64_t ResidentWatch::look() {
  uint64_t resident = memory_.resident_bytes();
  if (resident == 0) return kFarUs;
  const uint64_t growth = std::min(total_bytes_ / kGrowthShare, kMostGrowthBytes);
  if (resident > target_bytes_ && resident >= collected_bytes_ + growth) {
    memory_.collect();
    resident = memory_.resident_bytes();
    collected_bytes_ = resident;
  }
  collected_bytes_ = std::min(collected_bytes_, resident);
  change(resident);
  if (resident > target_bytes_) return kOverUs;
  return resident > total_bytes_ / 16 * kNearSixteenths ? kNearUs : kFarUs;
}

void ResidentWatch::change(uint64_t resident) {
  size_t wanted = withheld_bytes_;
  if (resident > target_bytes_) {
    wanted += std::min(resident - target_bytes_, total_bytes_ / kStepShare) / shards_;
  } else {
    wanted -= std::min(wanted, (target_bytes_ - resident) / shards_ / kReturnShare);
  }
  if (wanted != withheld_bytes_) withheld_bytes_ = withhold_(wanted);
}

}  // namespace cellar::server
