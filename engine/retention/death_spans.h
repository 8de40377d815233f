// DeathSpans: when the bytes of a table die or died by time alone, according to its profile
// (iter/cell_profile.h), without reading it.
//
// A span says: this many bytes die between `from_us` and `to_us`, inclusive, of trusted time. At
// time t, at most the spans that have started are dead, at least those that have ended, and
// approximately a value in between.
//
// Invariants
//   1. What a merge by the same rules would drop at t, because of age, own expiry or family, is at
//      most most_dead(t): acting on it is never late.
//   2. Nothing is claimed about unknown data: a table without a profile has spans only if its time
//      bounds alone give them, and unknown bounds give none.
//   3. By firm rules (TableRetention::firm) a byte held by an open undo window has no span, or one
//      that starts when the window no longer matters.
//
// Bytes are file bytes: counts before compression are scaled. Cells killed by newer tables are not
// included (reclaim_estimate.h estimates those by samples).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/iter/cell_profile.h"
#include "engine/iter/time_bounds.h"
#include "engine/model/schema.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

struct DeathSpan {
  int64_t from_us = 0;
  int64_t to_us = 0;
  double bytes = 0;
};

double most_dead(std::span<const DeathSpan> spans, int64_t at_us);
double about_dead(std::span<const DeathSpan> spans, int64_t at_us);
// INT64_MAX: no span.
int64_t first_death_us(std::span<const DeathSpan> spans);

// Known facts about a table, or about the part of it that belongs to one tablet.
struct MortalFacts {
  const TimeBounds& bounds;
  const CellProfile& profile;
  uint64_t raw_bytes = 0;  // of all keys and values in the table, uncompressed
  uint64_t bytes = 0;      // on disk, of the part
  CommitStamp min_stamp;
  CommitStamp max_stamp;
  CommitStamp gc_watermark;  // every cell committed by then was alive then
};

// `retention` is the schema's, firm or not. `orphaned_us`: since when families missing in the
// schema are known to be dropped.
std::vector<DeathSpan> death_spans(const TableSchema& schema, const TableRetention& retention,
                                   const MortalFacts& facts, int64_t orphaned_us);

}  // namespace cellar::engine
