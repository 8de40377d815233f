// FamilyRetention, TableRetention: the rules of one family or of all families of a table, compiled
// for the judge: the present rule and earlier ones that may still matter, as eras on the timeline.
//
// An era starts with a change of the rule and ends with the next one; the last is in force. A
// change at or before the stamp up to which all data is settled (TableMeta::gc_watermark) has no
// more effect and is omitted with all earlier ones.
//
// Reads and merges treat changes that may still be undone differently (SEMANTICS 5). A read uses
// the rules as they are. A merge must drop only what is dead whichever of those changes is undone
// later: from the first of them on it uses the *firm* rule, which kills a cell only by an age
// that is fatal under every rule since, including the one before that change. Before that change
// all possible histories agree.
//
//   versions 5, at 100 lowered to 3 (undone until 900), at 200 to 1 (undone until 1000)
//   a read:            [0, 100) versions 5   [100, 200) versions 3   [200, ..) versions 1
//   a merge at 500:    [0, 100) versions 5   [100, ..) keep everything
//   a merge at 950:    [0, 100) versions 5   [100, 200) versions 3   [200, ..) keep everything
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/schema.h"
#include "engine/retention/step_rule.h"
#include "engine/retention/timeline.h"

namespace cellar::engine {

class FamilyRetention {
 public:
  struct Era {
    Instant since = 0;
    StepRule rule;
  };

  // For reads. Changes at or before `gc_watermark` are omitted.
  explicit FamilyRetention(const FamilySchema& family, CommitStamp gc_watermark = {});
  // Firm, for a merge at `now_us`.
  static FamilyRetention firm(const FamilySchema& family, CommitStamp gc_watermark, int64_t now_us);

  const std::vector<Era>& eras() const { return eras_; }  // oldest first, never empty
  const StepRule& rule() const { return eras_.back().rule; }
  bool single() const { return eras_.size() == 1; }
  // Some rule limits versions: a cell's death depends on its column. Otherwise it depends on
  // the cell only, and dead_by_age() is the whole rule.
  bool counts() const { return counts_; }
  void count_anyway() { counts_ = true; }
  // Histories may differ from here on; kNever if no change can be undone. For firm() only.
  Instant firm_until() const { return firm_until_; }

  // REQUIRES: !counts(); a cell without its own expiry.
  bool dead_by_age(int64_t timestamp_us, CommitStamp born, int64_t now_us) const {
    if (has_fatal_age_ && now_us - timestamp_us > fatal_age_us_) return true;
    return !single() && dead_before_last_era(timestamp_us, born);
  }

 private:
  FamilyRetention() = default;
  void finish();
  bool dead_before_last_era(int64_t timestamp_us, CommitStamp born) const;

  std::vector<Era> eras_;
  bool counts_ = false;
  bool has_fatal_age_ = false;
  int64_t fatal_age_us_ = 0;
  Instant firm_until_ = kNever;
};

class TableRetention {
 public:
  explicit TableRetention(const TableSchema& schema, CommitStamp gc_watermark = {});
  static TableRetention firm(const TableSchema& schema, CommitStamp gc_watermark, int64_t now_us);
  // As for reads, but every family counts versions, possibly without effect, so that ColumnJudge
  // computes the time of death for all families.
  static TableRetention counted(const TableSchema& schema);

  // The retention of schema.families[i].
  const FamilyRetention& family(size_t i) const { return families_[i]; }
  size_t size() const { return families_.size(); }
  bool any_counts() const { return any_counts_; }
  // Some family has more than one era.
  bool remembers() const { return last_change_ != 0; }
  // The earliest time at which the present rules may be evaluated.
  int64_t not_before_us() const { return static_cast<int64_t>(last_change_ / 1000); }

 private:
  TableRetention() = default;
  void add(FamilyRetention family);

  std::vector<FamilyRetention> families_;
  bool any_counts_ = false;
  Instant last_change_ = 0;
};

// The last change of a rule; 0 if the schema remembers none.
CommitStamp last_rule_change(const TableSchema& schema);

}  // namespace cellar::engine
