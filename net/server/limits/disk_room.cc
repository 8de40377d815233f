#include "net/server/limits/disk_room.h"

#include <algorithm>

namespace cellar::server {

bool DiskRoom::adds(std::span<const Mutation> mutations) {
  return std::ranges::any_of(
      mutations, [](const Mutation& one) { return one.kind == Mutation::Kind::set_cell; });
}

Result<void> DiskRoom::refusal(uint64_t reserve_bytes) const {
  Error error(Errc::resource_exhausted,
              fmt::format("the disk has {} bytes left, and the last {} (disk.reserve) are kept for "
                          "deletes and for reclaiming: delete, tighten rules, or add disk",
                          free_bytes(), reserve_bytes));
  error.applied = Applied::not_applied;
  return std::unexpected(std::move(error).retry_after(kRetryMs));
}

}  // namespace cellar::server
