#include "engine/retention/drop_policy.h"

#include <algorithm>

namespace cellar::engine {
namespace {

Instant instant_before(Instant instant) { return instant == 0 ? 0 : instant - 1; }

}  // namespace

DropPolicy::DropPolicy(const TableSchema& schema, CommitStamp gc_watermark, const MergeFacts& facts)
    : facts_(facts),
      now_us_(std::max<int64_t>(0, facts.now_us - facts.margin_us)),
      // Undo windows use the same clock: an undo in a window's last moment cannot be overtaken by a
      // merge.
      retention_(TableRetention::firm(schema, gc_watermark, now_us_)) {
  // A later commit may have the same microsecond as facts.now_us.
  const Instant horizon =
      instant_before(std::min(instant_of_us(facts.now_us), instant_of(facts.newer_from)));
  counted_us_ = std::min<int64_t>(now_us_, static_cast<int64_t>(horizon / 1000));
  cut_ = std::min(horizon, instant_before(instant_after_us(counted_us_)));
  gc_watermark_ = cut_;
  for (size_t i = 0; i < retention_.size(); ++i) {
    gc_watermark_ = std::min(gc_watermark_, cut(retention_.family(i)));
  }
}

Instant DropPolicy::cut(const FamilyRetention& family) const {
  return std::min(cut_, instant_before(family.firm_until()));
}

DropPolicy::Verdict DropPolicy::single_cell(CellState fate, int64_t timestamp_us,
                                            bool has_expiry) const {
  switch (fate) {
    case CellState::overwritten:
    case CellState::deleted:
    case CellState::orphaned:
      return Verdict::drop;
    case CellState::expired:
    case CellState::ruled_out:
      break;
    default:
      return Verdict::keep;
  }
  if (facts_.bottom) return Verdict::drop;
  if (timestamp_us < facts_.older_min_us || timestamp_us > facts_.older_max_us) {
    return Verdict::drop;
  }
  // Older data at that timestamp has the same age, so it is dead too unless it has its own expiry.
  if (!has_expiry && !facts_.older_expiry) return Verdict::drop;
  return Verdict::tombstone;
}

DropPolicy::Verdict DropPolicy::counted_cell(const FamilyRetention& family, CellState fate,
                                             bool clean, Instant died) const {
  if (fate == CellState::orphaned) return Verdict::drop;
  if (fate == CellState::visible) return Verdict::keep;
  if (clean) return Verdict::drop;
  if (facts_.bottom) return died <= cut(family) ? Verdict::drop : Verdict::keep;
  return fate == CellState::ruled_out ? Verdict::keep : Verdict::tombstone;
}

bool DropPolicy::keeps_delete(CommitStamp stamp, bool redundant) const {
  if (!retention_.any_counts()) return !facts_.bottom && !redundant;
  return !facts_.bottom || instant_of(stamp) > gc_watermark_;
}

}  // namespace cellar::engine
