#include "engine/retention/death_spans.h"

#include <algorithm>

#include "engine/model/types.h"
#include "engine/retention/dead_table.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

int64_t us_of(Instant instant) { return static_cast<int64_t>(instant / 1000); }

// The first microsecond at which a cell of that timestamp is past a fatal age under the rule then
// in force; kNeverUs: never.
int64_t aged_us(const FamilyRetention& family, int64_t timestamp_us, CommitStamp min_born) {
  const auto& eras = family.eras();
  for (size_t i = 0; i < eras.size(); ++i) {
    const auto fatal_us = eras[i].rule.fatal_age_us();
    if (!fatal_us) continue;
    const int64_t due_us = saturating_add(saturating_add(timestamp_us, *fatal_us), 1);
    if (i + 1 == eras.size()) return due_us;
    const int64_t end_us = us_of(eras[i + 1].since);
    if (due_us < end_us && instant_of(min_born) < eras[i + 1].since) return due_us;
  }
  return kNeverUs;
}

class Spans {
 public:
  Spans(const TableRetention& retention, const MortalFacts& facts)
      : retention_(retention),
        facts_(facts),
        scale_(facts.raw_bytes == 0
                   ? 0
                   : static_cast<double>(facts.bytes) / static_cast<double>(facts.raw_bytes)) {}

  void add_family(const CellProfile::Family& cells, const FamilySchema* schema, size_t index,
                  int64_t orphaned_us) {
    if (schema == nullptr) return add(orphaned_us, orphaned_us, cells.bytes());
    if (schema->created >= facts_.min_stamp) add_earlier_life(cells, *schema);
    const FamilyRetention& family = retention_.family(index);
    if (family.rule().fatal_age_us() || !family.single()) {
      for (const TimeHistogram::Bucket& bucket : cells.times.buckets()) add_aged(family, bucket);
    }
    add_pushed_out(family, cells);
  }
  void add_expiries() {
    for (const TimeHistogram::Bucket& bucket : facts_.profile.expiries.buckets()) {
      add(saturating_add(bucket.first_us, 1), saturating_add(bucket.last_us, 1), bucket.bytes);
    }
  }
  std::vector<DeathSpan> take() { return std::move(spans_); }

 private:
  void add(int64_t from_us, int64_t to_us, uint64_t raw_bytes, double share = 1) {
    if (from_us == kNeverUs || raw_bytes == 0 || share <= 0) return;
    spans_.push_back({from_us, to_us, static_cast<double>(raw_bytes) * scale_ * share});
  }

  // The family was dropped and recreated: earlier commits are not its own.
  void add_earlier_life(const CellProfile::Family& cells, const FamilySchema& schema) {
    const int64_t since_us = us_of(instant_of(schema.created));
    const auto all = static_cast<double>(facts_.max_stamp.value() - facts_.min_stamp.value()) + 1;
    const auto earlier = static_cast<double>(schema.created.value() - facts_.min_stamp.value()) + 1;
    add(since_us, since_us, cells.bytes(), std::min(1.0, earlier / all));
  }

  void add_aged(const FamilyRetention& family, const TimeHistogram::Bucket& bucket) {
    int64_t from_us = aged_us(family, bucket.first_us, facts_.min_stamp);
    int64_t to_us = aged_us(family, bucket.last_us, facts_.min_stamp);
    if (from_us == kNeverUs) return;
    // If versions count, a merge drops nothing that died after a change that may be undone.
    if (family.counts() && family.firm_until() != kNever) {
      if (from_us >= us_of(family.firm_until())) return;
      to_us = std::min(to_us, us_of(family.firm_until()));
    }
    add(from_us, std::max(from_us, to_us), bucket.bytes);
  }

  // Later versions, under rules that depend on their rank: immediately, or from an age on.
  void add_pushed_out(const FamilyRetention& family, const CellProfile::Family& cells) {
    if (!family.counts() || family.firm_until() != kNever) return;
    const StepRule& rule = family.rule();
    const int64_t watermark_us = us_of(instant_of(facts_.gc_watermark));
    const auto all = static_cast<double>(std::max<uint64_t>(cells.bytes(), 1));
    if (rule.young_rank() != kNoRank && facts_.max_stamp > facts_.gc_watermark) {
      const int64_t at_us =
          us_of(std::max(instant_of(facts_.max_stamp), family.eras().back().since));
      add(at_us, at_us, cells.bytes_from_rank(rule.young_rank()));
    }
    for (const StepRule::Step& step : rule.steps()) {
      if (step.rank == 0 || step.rank == kNoRank) continue;
      const double share = static_cast<double>(cells.bytes_from_rank(step.rank)) / all;
      for (const TimeHistogram::Bucket& bucket : cells.times.buckets()) {
        const int64_t after_us = saturating_add(step.older_than_us, 1);
        const int64_t from_us = saturating_add(bucket.first_us, after_us);
        const int64_t to_us = saturating_add(bucket.last_us, after_us);
        if (to_us <= watermark_us) continue;  // it was alive then, so it does not have that rank
        add(std::max(from_us, watermark_us), to_us, bucket.bytes, share);
      }
    }
  }

  const TableRetention& retention_;
  const MortalFacts& facts_;
  const double scale_;
  std::vector<DeathSpan> spans_;
};

std::vector<DeathSpan> by_bounds(const TableRetention& retention, const MortalFacts& facts) {
  const int64_t from_us = first_death_us(retention, facts.bounds);
  if (from_us == kNeverUs || !facts.bounds.has_cells()) return {};
  const int64_t to_us = std::max(from_us, dead_from_us(retention, facts.bounds));
  return {{from_us, to_us, static_cast<double>(facts.bytes)}};
}

}  // namespace

double most_dead(std::span<const DeathSpan> spans, int64_t at_us) {
  double sum = 0;
  for (const DeathSpan& span : spans) sum += span.from_us <= at_us ? span.bytes : 0;
  return sum;
}

double about_dead(std::span<const DeathSpan> spans, int64_t at_us) {
  double sum = 0;
  for (const DeathSpan& span : spans) {
    if (span.from_us > at_us) continue;
    const double width = static_cast<double>(span.to_us) - static_cast<double>(span.from_us) + 1;
    const double passed = static_cast<double>(at_us) - static_cast<double>(span.from_us) + 1;
    sum += span.bytes * std::min(1.0, passed / width);
  }
  return sum;
}

int64_t first_death_us(std::span<const DeathSpan> spans) {
  int64_t first_us = kNeverUs;
  for (const DeathSpan& span : spans) first_us = std::min(first_us, span.from_us);
  return first_us;
}

std::vector<DeathSpan> death_spans(const TableSchema& schema, const TableRetention& retention,
                                   const MortalFacts& facts, int64_t orphaned_us) {
  if (!facts.profile.known) return by_bounds(retention, facts);
  Spans spans(retention, facts);
  for (const CellProfile::Family& cells : facts.profile.families) {
    const FamilySchema* family = schema.find_family(cells.name);
    const size_t index =
        family == nullptr ? 0 : static_cast<size_t>(family - schema.families.data());
    spans.add_family(cells, family, index, orphaned_us);
  }
  spans.add_expiries();
  return spans.take();
}

}  // namespace cellar::engine
