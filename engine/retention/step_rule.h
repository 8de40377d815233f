// StepRule: a retention rule compiled by age: for a cell of a given age it gives the *rank* from
// which on the cell is due, where the rank is the number of live versions of its column with
// newer timestamps.
//
// At a fixed age every max_age in the tree is true or false, so the tree is a threshold on the
// rank: max_versions(N) is N, an age that is due is 0, one that is not is kNoRank; a union is the
// least of its parts, an intersection the greatest. Ages only become due, so the threshold
// decreases with age, in at most as many steps as the tree has distinct ages.
//
//   union(max_age 2 d, max_versions 2)         up to 2 d: rank 2    beyond: rank 0
//   intersection(max_age 2 d, max_versions 2)  up to 2 d: never     beyond: rank 2
//
// For a cell with its own expiry that time replaces every max_age: until then its threshold is that
// of an age at which nothing is due, young_rank(); afterwards it is dead.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/retention_rule.h"

namespace cellar::engine {

inline constexpr uint64_t kNoRank = UINT64_MAX;  // not due at any rank

class StepRule {
 public:
  // Applies to ages greater than `older_than_us`.
  struct Step {
    int64_t older_than_us = 0;
    uint64_t rank = kNoRank;  // less than that of the previous step
    bool operator==(const Step&) const = default;
  };

  StepRule() = default;  // keeps everything
  // REQUIRES: validate_rule succeeded. O(n log n) in the nodes, per level of the tree.
  explicit StepRule(const RetentionRule& rule);

  uint64_t young_rank() const { return young_rank_; }
  const std::vector<Step>& steps() const { return steps_; }  // ascending ages, descending ranks
  // O(log steps).
  uint64_t rank_at(int64_t age_us) const {
    if (steps_.empty() || age_us <= steps_.front().older_than_us) return young_rank_;
    return rank_behind_first(age_us);
  }
  // The age beyond which a cell is due at any rank; empty if there is none.
  std::optional<int64_t> fatal_age_us() const;
  // Some age has a threshold that depends on the rank.
  bool counts() const;
  bool keeps_everything() const { return young_rank_ == kNoRank && steps_.empty(); }
  // No cell that `other` keeps would be due under this rule.
  bool keeps_all_of(const StepRule& other) const;
  bool operator==(const StepRule&) const = default;  // the same meaning, however written

 private:
  uint64_t rank_behind_first(int64_t age_us) const;

  uint64_t young_rank_ = kNoRank;
  std::vector<Step> steps_;
};

}  // namespace cellar::engine
