#include "engine/tablet/memory_deaths.h"

#include <algorithm>

#include "engine/model/types.h"
#include "engine/retention/dead_table.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// The part of reclaim_within, as a divisor, for which dead entries wait for an ordinary flush.
constexpr int64_t kWait = 2;

int64_t born_us(const Memtable& memtable) {
  return static_cast<int64_t>(memtable.min_stamp().value() / 1000);
}

// The least age at which any remembered rule of any family kills a cell; kNeverUs: none does.
int64_t least_fatal_age_us(const TableRetention& retention) {
  int64_t least_us = kNeverUs;
  for (size_t i = 0; i < retention.size(); ++i) {
    for (const FamilyRetention::Era& era : retention.family(i).eras())
      least_us = std::min(least_us, era.rule.fatal_age_us().value_or(kNeverUs));
  }
  return least_us;
}

int64_t first_death_of(const Memtable& memtable, const TableRetention& retention) {
  const TimeBounds& bounds = memtable.time_bounds();
  // A memtable without entries has only tokens, and keeps its log only for them.
  const bool killed = memtable.empty() || memtable.deletes() > 0 ||
                      !memtable.range_deletes().empty() || memtable.overwrites() > 0 ||
                      retention.any_counts();
  if (killed || !bounds.known) return born_us(memtable);
  int64_t first_us = saturating_add(memtable.earliest_expiry_us(), 1);
  if (bounds.has_cells() && bounds.any_without_expiry) {
    const int64_t age_us = saturating_add(least_fatal_age_us(retention), 1);
    first_us = std::min(first_us, saturating_add(bounds.min_timestamp_us, age_us));
  }
  return std::max(first_us, born_us(memtable));
}

}  // namespace

int64_t first_memory_death_us(const Tablet& tablet) {
  int64_t first_us = kNeverUs;
  for (const auto& memtable : tablet.version().memtables) {
    if (!memtable->entries.has_commits()) continue;
    first_us = std::min(first_us, first_death_of(memtable->entries, tablet.retention()));
  }
  return first_us;
}

int64_t memory_due_us(const Tablet& tablet) {
  const int64_t wait_us = tablet.schema().options.reclaim_within_us / kWait;
  return saturating_add(first_memory_death_us(tablet), tablet.margin_us() + wait_us);
}

int64_t log_due_us(const Tablet& tablet, const Memtable& flushed) {
  const TimeBounds& bounds = flushed.time_bounds();
  // It may have replaced cells that were flushed before it.
  const bool replaces =
      bounds.has_cells() && bounds.min_timestamp_us <= tablet.history().newest_flushed_us;
  const int64_t death_us =
      replaces ? born_us(flushed) : first_death_of(flushed, tablet.retention());
  if (death_us == kNeverUs) return kNeverUs;
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const auto flush_us =
      static_cast<int64_t>(LogDeaths::kFlushedWithin * static_cast<double>(within_us));
  const int64_t flushed_us = saturating_add(death_us, tablet.margin_us() + flush_us);
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  return saturating_add(std::max(flushed_us, now_us), within_us / LogDeaths::kClearWait);
}

void add_memory_deaths(Tablet& tablet, double scale, ReclaimFigures& figures) {
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const int64_t grace_us = reclaim_grace_us(tablet);
  const TableRetention firm =
      TableRetention::firm(tablet.schema(), gc_watermark_of(tablet.version()), now_us);
  for (const auto& memtable : tablet.version().memtables) {
    const Memtable& entries = memtable->entries;
    if (entries.empty() || !entries.time_bounds().has_cells()) continue;
    const auto bytes = static_cast<uint64_t>(static_cast<double>(entries.content_bytes()) * scale);
    const int64_t least_us = born_us(entries);
    const auto dead_at = [&](int64_t at_us) {
      return at_us < least_us ? 0 : dead_bytes(firm, entries.time_bounds(), bytes, at_us);
    };
    const uint64_t dead = std::min(dead_at(now_us), figures.live_bytes);
    const double cells =
        static_cast<double>(entries.entries()) / static_cast<double>(std::max<uint64_t>(bytes, 1));
    for (size_t i = 0; i < kDeathHorizonsUs.size(); ++i) {
      const uint64_t then = dead_at(saturating_add(now_us, kDeathHorizonsUs[i]));
      const uint64_t dies = then - std::min(dead, then);
      figures.dying.bytes[i] += dies;
      figures.dying.cells[i] += static_cast<uint64_t>(static_cast<double>(dies) * cells);
    }
    if (dead == 0) continue;
    figures.live_bytes -= dead;
    figures.dead_bytes += dead;
    figures.overdue_bytes += std::min(dead_at(now_us - grace_us), dead);
    const int64_t first_us = std::max(first_death_us(firm, entries.time_bounds()), least_us);
    figures.oldest_death_us = std::min(figures.oldest_death_us, first_us);
    const int64_t dead_us = dead_from_us(firm, entries.time_bounds());
    if (dead_us > now_us) continue;
    figures.file_due_us =
        std::min(figures.file_due_us, saturating_add(std::max(dead_us, least_us), grace_us));
  }
}

}  // namespace cellar::engine
