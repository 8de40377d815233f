#include "engine/read/explainer.h"

#include <algorithm>

#include "engine/retention/change_rule.h"
#include "engine/retention/explain.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

int64_t microsecond_of(Instant instant) {
  return instant == kNever ? INT64_MAX : static_cast<int64_t>(instant / 1000);
}

DeathCause cause_of(CellState fate) {
  switch (fate) {
    case CellState::expired:
      return DeathCause::expiry;
    case CellState::deleted:
    case CellState::overwritten:
      return DeathCause::deleted;
    default:
      return DeathCause::none;
  }
}

}  // namespace

Explainer::Explainer(const TableSchema& schema, bool include_dead, int64_t now_us)
    : schema_(schema), include_dead_(include_dead), rules_(TableRetention::counted(schema)) {
  const bool open = std::any_of(schema.families.begin(), schema.families.end(),
                                [now_us](const FamilySchema& f) { return can_undo(f, now_us); });
  if (!include_dead || !open) return;
  undone_ = schema;
  for (FamilySchema& family : undone_->families) family = undone(family, now_us);
  undone_rules_.emplace(*undone_);
}

void Explainer::attach(const RangeDeletes& ranges) {
  judge_.emplace(schema_, rules_, ranges);
  judge_->want_deaths(true);
  if (undone_) undone_judge_.emplace(*undone_, *undone_rules_, ranges);
}

void Explainer::begin_row(Bytes key, CommitStamp at, int64_t now_us) {
  bool begun = judge_->begin_row(key, at, kEndOfTimeUs);
  if (undone_judge_) begun = undone_judge_->begin_row(key, at, now_us) && begun;
  CHECK(begun, "a row that one judge could begin, the other could not");
  has_last_ = false;
}

bool Explainer::entry(Bytes key, Bytes value, CellState fate, CellNote& note) {
  const CellState end = judge_->judge(key, value);
  const CellState undone = undone_judge_ ? undone_judge_->judge(key, value) : fate;
  if (judge_->kind() != EntryKind::cell) return false;
  if (fate == CellState::unseen || fate == CellState::orphaned || replaced(fate)) return false;
  if (fate != CellState::visible && (!include_dead_ || judge_->value().tombstone)) return false;
  explain(end, note);
  if (fate != CellState::visible) {
    note.dead = true;
    if (undone == CellState::visible) note.cause = DeathCause::hidden;
  }
  return true;
}

// A later commit wrote the column at the same timestamp.
bool Explainer::replaced(CellState fate) {
  const bool same =
      has_last_ && column_ == judge_->column_number() && timestamp_us_ == judge_->timestamp_us();
  has_last_ = true;
  column_ = judge_->column_number();
  timestamp_us_ = judge_->timestamp_us();
  return same || fate == CellState::overwritten;
}

void Explainer::explain(CellState end, CellNote& note) {
  note = {};
  note.dies_at_us = microsecond_of(judge_->died());
  if (end == CellState::ruled_out) return name_clause(note);
  note.cause = cause_of(end);
}

// Finds the part of the rule then in force that was due; for an intersection, the one that became
// due last.
void Explainer::name_clause(CellNote& note) {
  const Instant died = judge_->died();
  const FamilySchema& family = *schema_.find_family(judge_->family());
  const RetentionRule& rule = rule_at(family, died);
  RuleQuestion question;
  question.age_us = note.dies_at_us - judge_->timestamp_us();
  question.rank = judge_->column_judge().newer_at(died);
  question.own_expiry = judge_->value().expire_at_us != kNoExpiry;
  const auto clause = matching_clause(rule, question);
  if (!clause) return;
  note.clause = static_cast<uint16_t>(*clause);
  // Slightly younger with as many newer versions: if the cell would have lived, its age was
  // decisive.
  RuleQuestion younger = question;
  --younger.age_us;
  const bool by_age = rule.nodes[*clause].kind == RuleNode::Kind::max_age ||
                      (rule.nodes[*clause].kind == RuleNode::Kind::intersection_of &&
                       matching_clause(rule, younger) != clause);
  note.cause = by_age ? DeathCause::max_age : DeathCause::max_versions;
}

}  // namespace cellar::engine
