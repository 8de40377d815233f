#include "engine/tablet/refusals.h"

#include <string>

#include "engine/store/out_of_space.h"
#include "engine/tablet/memtable_budget.h"

namespace cellar::engine {
namespace {

// Retry hint for a write refused because memory is full.
constexpr uint32_t kMemoryRetryMs = 100;
// Retry hint for a range delete refused because of others: merges take a while.
constexpr uint32_t kMergeRetryMs = 1000;
// Retry hint for a write refused by a quiesced tablet: the new tablets usually serve by then.
constexpr uint32_t kQuiesceRetryMs = 10;
// Retry hint for a read refused during a rule change: the change is usually in force or called off
// by then.
constexpr uint32_t kChangeRetryMs = 20;

std::string why_not_flushed(const Error& failure) {
  const bool disk_is_full = is_out_of_space(failure);
  return fmt::format("{}: {}",
                     disk_is_full ? "; they cannot be flushed because the disk is full"
                                  : "; the last flush of one failed",
                     failure.message);
}

}  // namespace

Error tablet_is_gone(TabletId tablet) {
  return Error(Errc::aborted, fmt::format("tablet {} is gone", tablet));
}

Error tablet_is_reshaped(TabletId tablet) {
  return Error(Errc::aborted, fmt::format("tablet {} is being reshaped", tablet))
      .retry_after(kQuiesceRetryMs);
}

Error rule_is_changed(TabletId tablet) {
  return Error(Errc::aborted, fmt::format("a rule of tablet {} is being changed", tablet))
      .retry_after(kChangeRetryMs);
}

Error row_is_elsewhere(Bytes row, TabletId tablet) {
  return Error(Errc::aborted,
               fmt::format("row '{}' is not in tablet {}", escape_bytes(row), tablet));
}

Error range_deletes_are_full(TabletId tablet, uint64_t bytes, uint64_t most_bytes) {
  return Error(Errc::resource_exhausted,
               fmt::format("the range deletes of tablet {} take {} of {} bytes until merges have "
                           "dropped them",
                           tablet, bytes, most_bytes))
      .retry_after(kMergeRetryMs);
}

Error memtables_are_full(ShardId shard, const MemtableBudget& memory) {
  std::string words = fmt::format("the memtables of shard {} take {} of {} bytes", shard,
                                  memory.gauge.all_bytes(), memory.hard_bytes);
  if (memory.flush_failure) words += why_not_flushed(*memory.flush_failure);
  return Error(Errc::resource_exhausted, std::move(words)).retry_after(kMemoryRetryMs);
}

}  // namespace cellar::engine
