#include "engine/retention/column_judge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/model/key.h"

namespace cellar::engine {
namespace {

// When a cell of that timestamp becomes older than that.
Instant crossing(int64_t timestamp_us, int64_t older_than_us) {
  if (timestamp_us > std::numeric_limits<int64_t>::max() - older_than_us) return kNever;
  return instant_after_us(timestamp_us + older_than_us);
}

}  // namespace

void ColumnJudge::begin(const FamilyRetention& family, int64_t now_us, bool exact,
                        const DeleteSweep::Whole& whole,
                        const std::vector<DeleteSweep::Range>& of_column) {
  family_ = &family;
  now_us_ = now_us;
  end_ = instant_after_us(now_us);
  whole_ = whole;
  of_column_ = &of_column;
  young_rank_ = family.rule().young_rank();
  by_age_ = !family.rule().steps().empty();
  all_alive_ = true;
  expiring_ = false;
  wants_deaths_ = exact;
  exact_ = exact || !family.single();
  started_ = false;
  last_timestamp_us_ = -1;
  has_last_ = false;
  alive_ = 0;
  seen_.clear();
}

CellState ColumnJudge::judge_slowly(const Cell& cell, bool deleted) {
  const bool overwritten =
      std::exchange(last_timestamp_us_, cell.timestamp_us) == cell.timestamp_us;
  if (!wants_deaths_ && is_full()) {  // it is out, and so are all later ones
    rank_ = alive_;
    return overwritten ? CellState::overwritten
           : deleted   ? CellState::deleted
                       : CellState::ruled_out;
  }
  if (!exact_ && (deleted || expiring_ || cell.expire_at_us != kNoExpiry)) go_exact();
  if (exact_) return replay(cell);
  all_alive_ = false;
  seen_.push_back(cell);
  rank_ = alive_;
  return overwritten ? CellState::overwritten : CellState::ruled_out;
}

void ColumnJudge::go_exact() {
  exact_ = true;
  has_last_ = false;
  alive_ = 0;
  for (const Cell& cell : seen_) replay(cell);
}

CellState ColumnJudge::replay(const Cell& cell) {
  if (!started_) {
    started_ = true;
    timeline_.clear();
    sweep_.begin(whole_, *of_column_);
  }
  const Instant born = instant_of(cell.born);
  CellState fate = CellState::visible;
  died_ = sweep_.first_after(cell.born, cell.timestamp_us);
  if (died_ != kNever) fate = CellState::deleted;
  if (has_last_ && last_.timestamp_us == cell.timestamp_us && instant_of(last_.born) <= died_) {
    died_ = instant_of(last_.born);
    fate = CellState::overwritten;
  }
  has_last_ = true;
  last_ = cell;
  if (cell.expire_at_us != kNoExpiry) {
    const Instant expires = std::max(born, instant_after_us(cell.expire_at_us));
    if (expires < std::min(end_, died_)) {
      died_ = expires;
      fate = CellState::expired;
    }
  }
  const Instant due = first_due(cell, std::min(end_, died_));
  if (due != kNever) {
    died_ = due;
    fate = CellState::ruled_out;
  }
  rank_ = alive_;
  if (died_ == kNever) ++alive_;
  timeline_.add(born, died_);
  return fate;
}

Instant ColumnJudge::first_due(const Cell& cell, Instant to) const {
  const auto& eras = family_->eras();
  for (size_t i = 0; i < eras.size(); ++i) {
    const StepRule& rule = eras[i].rule;
    Instant from = std::max(eras[i].since, instant_of(cell.born));
    const Instant until = i + 1 < eras.size() ? std::min(eras[i + 1].since, to) : to;
    if (from >= until) continue;
    uint64_t rank = rule.young_rank();
    if (cell.expire_at_us == kNoExpiry) {
      // Skips ranks above the number of versions that were ever alive at once.
      const uint64_t most = timeline_.most();
      auto at = rule.steps().begin();
      if (rank > most) {
        at = std::partition_point(at, rule.steps().end(),
                                  [most](const StepRule::Step& s) { return s.rank > most; });
        if (at == rule.steps().end()) continue;
        from = std::max(from, crossing(cell.timestamp_us, at->older_than_us));
        rank = (at++)->rank;
      }
      for (; at != rule.steps().end() && from < until; ++at) {
        const StepRule::Step& step = *at;
        const Instant cross = std::min(crossing(cell.timestamp_us, step.older_than_us), until);
        if (cross > from) {
          const Instant due = timeline_.first_with(rank, from, cross);
          if (due != kNever) return due;
          from = cross;
        }
        rank = step.rank;
      }
    }
    const Instant due = timeline_.first_with(rank, from, until);
    if (due != kNever) return due;
  }
  return kNever;
}

}  // namespace cellar::engine
