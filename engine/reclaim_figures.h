// ReclaimFigures: the dead bytes of a tablet, a shard or a table, and when it was last verified. A
// value; figures can be added. Computed from the profiles of tables (retention/death_spans.h) and,
// for what newer tables killed, from samples of rows (reclaim_estimate.h). Bytes are usually
// accurate to a twenty-fourth of a table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/verified_figures.h"

namespace cellar::engine {

// How far ahead deaths are forecast, in microseconds.
inline constexpr int64_t kHourUs = 3'600'000'000;
inline constexpr std::array<int64_t, 11> kDeathHorizonsUs = {
    kHourUs,      3 * kHourUs,  6 * kHourUs,   12 * kHourUs,  24 * kHourUs, 48 * kHourUs,
    72 * kHourUs, 96 * kHourUs, 120 * kHourUs, 144 * kHourUs, 168 * kHourUs};

// What dies by age, own expiry or the end of an undo window within each of kDeathHorizonsUs, about.
// Later writes, which may push out versions, are not foreseen.
struct DeathForecast {
  std::array<uint64_t, kDeathHorizonsUs.size()> bytes{};
  std::array<uint64_t, kDeathHorizonsUs.size()> cells{};

  void add(const DeathForecast& other) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] += other.bytes[i];
      cells[i] += other.cells[i];
    }
  }
  bool operator==(const DeathForecast&) const = default;
};

struct ReclaimFigures {
  uint64_t live_bytes = 0;  // about; not dead, on disk or in memory
  uint64_t dead_bytes = 0;  // dead and still on disk or in memory,
  // part of dead_bytes: dead for longer than reclaim_within and the margin
  uint64_t overdue_bytes = 0;
  uint64_t held_bytes = 0;      // hidden by a rule that can still be undone; not in dead_bytes
  uint64_t pinned_bytes = 0;    // of files that only readers still hold; in no other figure
  uint64_t unknown_bytes = 0;   // of files without a profile of deaths; part of live_bytes
  uint64_t damaged_tables = 0;  // found damaged since the start; excluded from merges
  int64_t oldest_death_us = INT64_MAX;  // first death among the dead bytes; INT64_MAX: none
  // The earliest deadline of a wholly dead or pinned file (or memtable); INT64_MAX: none.
  int64_t file_due_us = INT64_MAX;
  // Since when some tablet has had more overdue than dead_slack allows; INT64_MAX: none has.
  int64_t over_slack_us = INT64_MAX;
  int64_t next_reclaim_us = INT64_MAX;  // trusted time of the next work; INT64_MAX: none is planned
  DeathForecast dying;                  // of the live and the held bytes
  VerifiedFigures verified{};

  void add(const ReclaimFigures& other) {
    live_bytes += other.live_bytes;
    dead_bytes += other.dead_bytes;
    overdue_bytes += other.overdue_bytes;
    held_bytes += other.held_bytes;
    pinned_bytes += other.pinned_bytes;
    unknown_bytes += other.unknown_bytes;
    damaged_tables += other.damaged_tables;
    oldest_death_us = std::min(oldest_death_us, other.oldest_death_us);
    file_due_us = std::min(file_due_us, other.file_due_us);
    over_slack_us = std::min(over_slack_us, other.over_slack_us);
    next_reclaim_us = std::min(next_reclaim_us, other.next_reclaim_us);
    dying.add(other.dying);
    verified.add(other.verified);
  }
  bool operator==(const ReclaimFigures&) const = default;
};

// Since when a table with these figures misses its reclaim deadline (SEMANTICS 3): a dead file is
// still there after it, or the table as a whole has more overdue than dead_slack of what is live.
// INT64_MAX: it is met.
inline int64_t missed_since_us(const ReclaimFigures& of, double dead_slack, int64_t now_us) {
  int64_t since_us = of.file_due_us <= now_us ? of.file_due_us : INT64_MAX;
  const double allowed = dead_slack * static_cast<double>(of.live_bytes + of.held_bytes);
  if (of.overdue_bytes > 0 && static_cast<double>(of.overdue_bytes) > allowed) {
    since_us = std::min(since_us, of.over_slack_us);
  }
  return since_us;
}

}  // namespace cellar::engine
