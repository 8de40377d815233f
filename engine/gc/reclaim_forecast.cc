#include "engine/gc/reclaim_forecast.h"

#include <algorithm>

#include "engine/gc/reclaim_estimate.h"
#include "engine/model/types.h"
#include "engine/retention/dead_table.h"
#include "engine/tablet/memory_deaths.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

double clamped_dead(const DeathCurve& deaths, double bytes, int64_t at_us) {
  return std::min(deaths.about_dead(at_us), bytes);
}

// When past rules can be forgotten: no change can be undone any more, and the margin has passed.
int64_t rules_due(Tablet& tablet) {
  const TableSchema& schema = tablet.schema();
  const CommitStamp changed = last_rule_change(schema);
  if (changed == CommitStamp{} || gc_watermark_of(tablet.version()) >= changed) return kNeverUs;
  int64_t last_us = static_cast<int64_t>(changed.value() / 1000);
  for (const FamilySchema& family : schema.families) {
    for (const PastRule& past : family.history) last_us = std::max(last_us, past.undo_until_us);
  }
  return saturating_add(last_us, schema.options.reclaim_within_us / 4);
}

// When the first table is wholly dead.
int64_t wholly_dead_us(Tablet& tablet, int64_t now_us) {
  int64_t dead_us = kNeverUs;
  const TableRetention firm =
      TableRetention::firm(tablet.schema(), gc_watermark_of(tablet.version()), now_us);
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      // A table with only deletes does not die; merges drop it.
      const TimeBounds& bounds = table->meta().bounds;
      if (!bounds.has_cells() && !bounds.has_tokens()) continue;
      dead_us = std::min(dead_us, dead_from_us(firm, bounds));
    }
  }
  return dead_us;
}

// Whether the overdue bytes exceed the slack for that many live bytes.
bool is_over_slack(const Tablet& tablet, double live, double overdue) {
  return overdue >= 1 && overdue > tablet.schema().options.dead_slack * live;
}

// Approximate stored size of a byte of keys and values in the tablet's tables.
double stored_per_byte(const Tablet& tablet) {
  double raw = 0;
  double stored = 0;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      raw += static_cast<double>(table->meta().key_bytes + table->meta().value_bytes);
      stored += static_cast<double>(table->meta().file_bytes);
    }
  }
  return raw > stored ? stored / raw : 1;
}

// About the entries within the tablet's rows.
double entries_of(const Tablet& tablet) {
  double entries = 0;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const TableMeta& meta = table->meta();
      const double part = meta.file_bytes == 0 ? 0
                                               : static_cast<double>(table->slice().bytes()) /
                                                     static_cast<double>(meta.file_bytes);
      entries += static_cast<double>(meta.entries) * std::min(part, 1.0);
    }
  }
  return entries;
}

}  // namespace

ReclaimState& ReclaimState::of(Tablet& tablet) {
  std::unique_ptr<TabletAttachment>& state = tablet.reclaim_state();
  if (!state) state = std::make_unique<ReclaimState>();
  return static_cast<ReclaimState&>(*state);
}

int64_t reclaim_lead_us(Tablet& tablet) {
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const auto most_us =
      static_cast<int64_t>(ReclaimState::kMostLead * static_cast<double>(within_us));
  return std::min(ReclaimState::of(tablet).lead_us + ReclaimAttempt::again_us(within_us), most_us);
}

double unflushed_bytes(const Tablet& tablet) {
  double unflushed = 0;
  for (const auto& memtable : tablet.version().memtables) {
    unflushed += static_cast<double>(memtable->entries.content_bytes());
  }
  return unflushed * stored_per_byte(tablet);
}

bool ReclaimForecast::is_stale(Tablet& tablet) const {
  const int64_t age_us =
      std::max(kLeastAgeUs, tablet.schema().options.reclaim_within_us / kMostAge);
  return !made_ || publications_ != tablet.history().publications ||
         schema_version_ != tablet.schema().version ||
         tablet.shard().runtime.clock.now_us() - made_us_ > age_us;
}

ReclaimForecast& ReclaimForecast::fresh(Tablet& tablet) {
  if (is_stale(tablet)) look(tablet, tablet.shard().runtime.clock.now_us());
  return *this;
}

void ReclaimForecast::look(Tablet& tablet, int64_t now_us) {
  made_ = true;
  publications_ = tablet.history().publications;
  schema_version_ = tablet.schema().version;
  made_us_ = now_us;
  unknown_ = 0;
  const ReclaimEstimate view = reclaim_estimate(tablet);
  bytes_ = static_cast<double>(view.bytes);
  entries_ = entries_of(tablet);
  unflushed_ = unflushed_bytes(tablet);
  std::vector<DeathSpan> deaths;
  std::vector<DeathSpan> hidden;
  for (const TableDeaths& table : view.tables) {
    deaths.insert(deaths.end(), table.by_time.begin(), table.by_time.end());
    for (const DeathByNewer& death : table.by_newer) deaths.push_back(death.span);
    hidden.insert(hidden.end(), table.hidden.begin(), table.hidden.end());
    if (table.unknown) unknown_ += static_cast<double>(table.bytes);
  }
  deaths_ = DeathCurve(deaths);
  hidden_ = DeathCurve(hidden);
  const int64_t dead_us = wholly_dead_us(tablet, now_us);
  merge_due_us_ = saturating_add(std::min(rules_due(tablet), dead_us), tablet.margin_us());
  file_due_us_ = saturating_add(dead_us, reclaim_grace_us(tablet));
  slack_out_us_ = find_slack_out_us(tablet, now_us);
}

bool ReclaimForecast::is_over(Tablet& tablet, int64_t at_us) const {
  const double live = bytes_ - clamped_dead(deaths_, bytes_, at_us) + unflushed_;
  return is_over_slack(tablet, live,
                       clamped_dead(deaths_, bytes_, at_us - reclaim_grace_us(tablet)));
}

// Overdue bytes only increase with time and live ones only decrease, so bisection finds the first
// moment above the slack.
int64_t ReclaimForecast::find_slack_out_us(Tablet& tablet, int64_t now_us) const {
  const int64_t grace_us = reclaim_grace_us(tablet);
  int64_t over_us = saturating_add(std::max(now_us, deaths_.last_us()), grace_us);
  over_us = saturating_add(over_us, 1);
  if (!is_over(tablet, over_us)) return kNeverUs;
  int64_t within_us = std::max<int64_t>(std::min(now_us, deaths_.first_us()), 0);
  while (over_us - within_us > 1) {
    const int64_t middle_us = within_us + (over_us - within_us) / 2;
    (is_over(tablet, middle_us) ? over_us : within_us) = middle_us;
  }
  return over_us;
}

int64_t ReclaimForecast::slack_due_us(Tablet& tablet) {
  const int64_t out_us = slack_out_us(tablet);
  return out_us == kNeverUs ? kNeverUs : out_us - reclaim_lead_us(tablet);
}

// On disk; `dead` is dead at `now_us`.
DeathForecast ReclaimForecast::dying(double dead, int64_t now_us) const {
  DeathForecast dying;
  if (bytes_ <= 0) return dying;
  for (size_t i = 0; i < kDeathHorizonsUs.size(); ++i) {
    const int64_t at_us = saturating_add(now_us, kDeathHorizonsUs[i]);
    const double dies = std::max(0.0, clamped_dead(deaths_, bytes_, at_us) - dead);
    dying.bytes[i] = static_cast<uint64_t>(dies);
    dying.cells[i] = static_cast<uint64_t>(dies / bytes_ * entries_);
  }
  return dying;
}

ReclaimFigures ReclaimForecast::figures(Tablet& tablet) {
  fresh(tablet);
  unflushed_ = unflushed_bytes(tablet);
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const double dead = clamped_dead(deaths_, bytes_, now_us);
  ReclaimFigures figures;
  figures.dead_bytes = static_cast<uint64_t>(dead);
  figures.overdue_bytes =
      static_cast<uint64_t>(clamped_dead(deaths_, bytes_, now_us - reclaim_grace_us(tablet)));
  if (!hidden_.empty()) {
    figures.held_bytes =
        static_cast<uint64_t>(std::max(0.0, clamped_dead(hidden_, bytes_, now_us) - dead));
  }
  const auto there = static_cast<uint64_t>(bytes_ - dead + unflushed_);
  figures.live_bytes = there - std::min(figures.held_bytes, there);
  figures.unknown_bytes = static_cast<uint64_t>(unknown_);
  const int64_t first_us = deaths_.first_us();
  if (first_us <= now_us) figures.oldest_death_us = first_us;
  figures.next_reclaim_us = std::min(std::max(now_us, slack_due_us(tablet)), merge_due_us_);
  figures.file_due_us = file_due_us_;
  for (const TabletRun& run : tablet.version().runs) {
    for (const auto& table : run.tables) figures.damaged_tables += table->is_damaged() ? 1 : 0;
  }
  if (is_over(tablet, now_us)) figures.over_slack_us = std::min(slack_out_us_, now_us);
  figures.dying = dying(dead, now_us);
  add_memory_deaths(tablet, stored_per_byte(tablet), figures);
  return figures;
}

}  // namespace cellar::engine
