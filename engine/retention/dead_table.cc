#include "engine/retention/dead_table.h"

#include <algorithm>

#include "engine/model/types.h"

namespace cellar::engine {
namespace {

// When every cell up to that timestamp and without its own expiry is dead.
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

int64_t dead_before_us(const TableRetention& retention, int64_t now_us) {
  int64_t age_us = 0;
  for (size_t i = 0; i < retention.size(); ++i) {
    const auto fatal = retention.family(i).rule().fatal_age_us();
    if (!fatal) return INT64_MIN;
    age_us = std::max(age_us, *fatal);
  }
  return now_us - age_us;
}

int64_t dead_from_us(const TableRetention& firm, const TimeBounds& bounds) {
  if (!bounds.known) return kNeverUs;
  int64_t from_us = bounds.has_tokens() ? bounds.tokens_until_us + 1 : 0;
  if (!bounds.has_cells()) return from_us;
  if (bounds.any_without_expiry) {
    from_us = std::max(from_us, aged_from_us(firm, bounds.max_timestamp_us));
  }
  if (bounds.latest_expiry_us != INT64_MIN) {
    if (bounds.latest_expiry_us == kNeverUs) return kNeverUs;
    from_us = std::max(from_us, bounds.latest_expiry_us + 1);
  }
  return from_us;
}

namespace {

// Cells between the first and the last death cannot be estimated: some have their own expiry, or a
// change that may be undone keeps cells that their age would kill.
bool only_all_or_nothing(const TableRetention& firm, const TimeBounds& bounds) {
  if (!bounds.any_without_expiry || bounds.latest_expiry_us != INT64_MIN) return true;
  for (size_t i = 0; i < firm.size(); ++i) {
    const FamilyRetention& family = firm.family(i);
    if (family.counts() && family.firm_until() != kNever) return true;
  }
  return false;
}

}  // namespace

int64_t first_death_us(const TableRetention& firm, const TimeBounds& bounds) {
  if (!bounds.known || !bounds.has_cells()) return kNeverUs;
  if (only_all_or_nothing(firm, bounds)) return dead_from_us(firm, bounds);
  return aged_from_us(firm, bounds.min_timestamp_us);
}

uint64_t dead_bytes(const TableRetention& firm, const TimeBounds& bounds, uint64_t bytes,
                    int64_t at_us) {
  const int64_t first_us = first_death_us(firm, bounds);
  if (first_us == kNeverUs || first_us > at_us) return 0;
  if (dead_from_us(firm, bounds) <= at_us) return bytes;
  const auto span = static_cast<double>(bounds.max_timestamp_us) -
                    static_cast<double>(bounds.min_timestamp_us) + 1;
  const auto passed = static_cast<double>(at_us) - static_cast<double>(first_us) + 1;
  return static_cast<uint64_t>(static_cast<double>(bytes) * std::min(1.0, passed / span));
}

int64_t first_masking_nothing_us(const TableRetention& firm, const TimeBounds& bounds,
                                 const Beside& beside) {
  if (!bounds.known) return kNeverUs;
  if (!bounds.has_cells()) return 0;
  const bool overwrote_nothing = bounds.min_timestamp_us > beside.older_max_us ||
                                 bounds.max_timestamp_us < beside.older_min_us;
  if (!firm.any_counts() && overwrote_nothing) return 0;
  return beside.any_expiry ? kNeverUs : aged_from_us(firm, bounds.max_timestamp_us);
}

bool masks_nothing(const TableRetention& firm, const TimeBounds& bounds, const Beside& beside,
                   int64_t now_us) {
  const int64_t from_us = first_masking_nothing_us(firm, bounds, beside);
  return from_us != kNeverUs && now_us >= from_us;
}

}  // namespace cellar::engine
