#include "engine/shard/cache_loan.h"

namespace cellar::engine {
namespace {

// The full cache that would earn the most.
std::optional<uint32_t> borrower(std::span<const CacheOffer> offers) {
  std::optional<uint32_t> best;
  for (uint32_t i = 0; i < offers.size(); ++i) {
    const CacheOffer& offer = offers[i];
    if (!offer.full || offer.came_back < kLeastEarned) continue;
    if (!best || offer.came_back > offers[*best].came_back) best = i;
  }
  return best;
}

}  // namespace

std::optional<CacheLoan> pick_loan(std::span<const CacheOffer> offers, size_t step_bytes) {
  const std::optional<uint32_t> to = borrower(offers);
  if (!to || step_bytes == 0) return std::nullopt;
  std::optional<uint32_t> idle;
  std::optional<uint32_t> poor;
  for (uint32_t i = 0; i < offers.size(); ++i) {
    const CacheOffer& offer = offers[i];
    if (i == *to || offer.lendable_bytes < step_bytes) continue;
    if (offer.unused_bytes >= 2 * step_bytes &&
        (!idle || offer.unused_bytes > offers[*idle].unused_bytes)) {
      idle = i;
    }
    const bool earns_less = offer.came_back * kTimesEarned <= offers[*to].came_back;
    if (earns_less && (!poor || offer.came_back < offers[*poor].came_back)) poor = i;
  }
  const std::optional<uint32_t> from = idle ? idle : poor;
  if (!from) return std::nullopt;
  return CacheLoan{*from, *to, step_bytes};
}

}  // namespace cellar::engine
