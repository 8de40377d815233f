#include "engine/retention/dead_table.h"

#include <algorithm>
#include <limits>

namespace cellar::engine {
namespace {

constexpr int64_t kNeverUs = std::numeric_limits<int64_t>::max();

// From when on every cell of up to that timestamp and without an own expiry is dead.
int64_t aged_from_us(const TableRetention& firm, int64_t timestamp_us) {
  int64_t from_us = 0;
  for (size_t i = 0; i < firm.size(); ++i) {
    const auto fatal_us = firm.family(i).rule().fatal_age_us();
    if (!fatal_us || timestamp_us >= kNeverUs - *fatal_us) return kNeverUs;
    from_us = std::max(from_us, timestamp_us + *fatal_us + 1);
  }
  return from_us;
}

}  // namespace

int64_t dead_from_us(const TableRetention& firm, const TimeBounds& bounds) {
  if (!bounds.known) return kNeverUs;
  if (!bounds.has_cells()) return 0;
  int64_t from_us = bounds.any_without_expiry ? aged_from_us(firm, bounds.max_timestamp_us) : 0;
  if (bounds.latest_expiry_us != INT64_MIN) {
    if (bounds.latest_expiry_us == kNeverUs) return kNeverUs;
    from_us = std::max(from_us, bounds.latest_expiry_us + 1);
  }
  return from_us;
}

bool masks_nothing(const TableRetention& firm, const TimeBounds& bounds, const Beside& beside,
                   int64_t now_us) {
  if (!bounds.known) return false;
  if (!bounds.has_cells()) return true;
  if (!beside.any_expiry && now_us >= aged_from_us(firm, bounds.max_timestamp_us)) return true;
  const bool overwrote_nothing = bounds.min_timestamp_us > beside.older_max_us ||
                                 bounds.max_timestamp_us < beside.older_min_us;
  return !firm.any_counts() && overwrote_nothing;
}

}  // namespace cellar::engine
