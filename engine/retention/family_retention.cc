#include "engine/retention/family_retention.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

using Eras = std::vector<FamilyRetention::Era>;

Eras eras_of(const FamilySchema& family, CommitStamp gc_watermark) {
  Eras eras;
  Instant since = 0;
  for (const PastRule& past : family.history) {
    if (past.until > gc_watermark) eras.push_back({since, StepRule(past.rule)});
    since = instant_of(past.until);
  }
  eras.push_back({since, StepRule(family.rule)});
  eras.front().since = 0;
  return eras;
}

// A rule by age only: the least age that is fatal under every rule from `first` on.
StepRule loosest(const Eras& eras, size_t first) {
  int64_t age_us = 0;
  for (size_t i = first; i < eras.size(); ++i) {
    const auto fatal = eras[i].rule.fatal_age_us();
    if (!fatal) return {};
    age_us = std::max(age_us, *fatal);
  }
  return StepRule(RetentionRule::max_age_us(age_us));
}

}  // namespace

FamilyRetention::FamilyRetention(const FamilySchema& family, CommitStamp gc_watermark)
    : eras_(eras_of(family, gc_watermark)) {
  finish();
}

FamilyRetention FamilyRetention::firm(const FamilySchema& family, CommitStamp gc_watermark,
                                      int64_t now_us) {
  const auto open =
      std::find_if(family.history.begin(), family.history.end(),
                   [now_us](const PastRule& past) { return past.can_be_undone(now_us); });
  if (open == family.history.end()) return FamilyRetention(family, gc_watermark);
  // Its predecessor may be restored, regardless of `gc_watermark`.
  FamilyRetention result(family, std::min(gc_watermark, CommitStamp{open->until.value() - 1}));
  const auto since_open = static_cast<size_t>(family.history.end() - open);
  const size_t first = result.eras_.size() - since_open;  // the era started by the change
  StepRule rule = loosest(result.eras_, first - 1);
  result.eras_.resize(first);
  result.eras_.push_back({instant_of(open->until), std::move(rule)});
  // Merges only become more restrictive if versions are counted, so counts() keeps its value.
  const bool counts = result.counts_;
  result.finish();
  result.counts_ = counts;
  result.firm_until_ = instant_of(open->until);
  return result;
}

void FamilyRetention::finish() {
  counts_ =
      std::any_of(eras_.begin(), eras_.end(), [](const Era& era) { return era.rule.counts(); });
  const auto fatal = rule().fatal_age_us();
  has_fatal_age_ = fatal.has_value();
  fatal_age_us_ = fatal.value_or(0);
}

bool FamilyRetention::dead_before_last_era(int64_t timestamp_us, CommitStamp born) const {
  for (size_t i = 0; i + 1 < eras_.size(); ++i) {
    const Instant end = eras_[i + 1].since;
    const auto fatal = eras_[i].rule.fatal_age_us();
    if (!fatal || instant_of(born) >= end) continue;
    if (instant_after_us(saturating_add(timestamp_us, *fatal)) < end) return true;
  }
  return false;
}

TableRetention::TableRetention(const TableSchema& schema, CommitStamp gc_watermark) {
  for (const FamilySchema& family : schema.families) add(FamilyRetention(family, gc_watermark));
}

TableRetention TableRetention::firm(const TableSchema& schema, CommitStamp gc_watermark,
                                    int64_t now_us) {
  TableRetention result;
  for (const FamilySchema& family : schema.families) {
    result.add(FamilyRetention::firm(family, gc_watermark, now_us));
  }
  return result;
}

TableRetention TableRetention::counted(const TableSchema& schema) {
  TableRetention result;
  for (const FamilySchema& family : schema.families) {
    FamilyRetention rules(family);
    rules.count_anyway();
    result.add(std::move(rules));
  }
  return result;
}

void TableRetention::add(FamilyRetention family) {
  any_counts_ = any_counts_ || family.counts();
  last_change_ = std::max(last_change_, family.eras().back().since);
  families_.push_back(std::move(family));
}

CommitStamp last_rule_change(const TableSchema& schema) {
  CommitStamp last;
  for (const FamilySchema& family : schema.families) {
    if (!family.history.empty()) last = std::max(last, family.history.back().until);
  }
  return last;
}

}  // namespace cellar::engine
