// DeathSpans: when the bytes of a table die, or died, by time alone, as far as its profile tells
// (iter/cell_profile.h), without reading it.
//
// A span says: so many bytes die between `from_us` and `to_us`, inclusive, of trusted time. So at t
// at most all of the spans that have begun are dead, at least those that have ended, and about as
// much as lies between.
//
// Invariants
//   1. What a merge by the same rules would leave out at t, because of age, own expiry or family,
//      is at most most_dead(t): whoever acts on it is never late.
//   2. Nothing is claimed of what is not known: a table without a profile has spans only where its
//      time bounds alone give them, and bounds that are not known give none.
//   3. By firm rules (TableRetention::firm) a byte that an open undo window holds has no span, or
//      one that begins when the window no longer matters.
// Bytes are of the file: what is counted before compression is scaled.
//
// Not told here: what newer tables killed (reclaim_view.h bounds that by samples).
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

// What is known of a table, or of the part of it that is one tablet's.
struct MortalFacts {
  const TimeBounds& bounds;
  const CellProfile& profile;
  uint64_t raw_bytes = 0;  // of all keys and values in the table, before any compression
  uint64_t bytes = 0;      // on disk, of the part
  CommitStamp min_stamp;
  CommitStamp max_stamp;
  CommitStamp settled;  // every cell committed by then was alive then
};

// `retention` is the schema's, firm or not. `orphaned_us`: since when families that the schema does
// not have are known to be gone.
std::vector<DeathSpan> death_spans(const TableSchema& schema, const TableRetention& retention,
                                   const MortalFacts& facts, int64_t orphaned_us);

}  // namespace cellar::engine
