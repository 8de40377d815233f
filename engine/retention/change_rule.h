// Replacing a family's rule (SEMANTICS 5): the effect on its history and on changes that may still
// be undone.
//
// A change *tightens* if the new rule may kill cells that the replaced one keeps. During the
// family's undo window it only hides cells: a rule that *loosens* it, which keeps everything that
// the tightened rule keeps and more, takes the change back, and the history reads as if the
// tightened rule had never been in force. Every open change whose rule the new one loosens is taken
// back, newest first.
//
//   versions 3, lowered to 1, raised to 4     history becomes: versions 3, then 4
//   versions 5, lowered to 1, raised to 2     history becomes: versions 5, then 2 (hides again)
//   versions 3, raised to 4                   nothing returns: nothing was tightened
//   versions 3, replaced by max_age 1 d       tightens (some), so it may be undone; it loosens no
//                                             rule, so it takes nothing back
//
// An *undo* takes the newest open change back whatever the rule then in force, also if no rule
// loosens the tightened one, as in the last example.
#pragma once

#include "engine/model/schema.h"
#include "io/base/result.h"

namespace cellar::engine {

struct RuleChange {
  RetentionRule rule;
  CommitStamp stamp;   // of the change: greater than every commit and every earlier change
  int64_t now_us = 0;  // trusted
  // At the limit of undo windows the oldest is closed: what it hid is then permanently dead.
  bool close_oldest_undo_window = false;
};

// The family with `change.rule` in force and the resulting history; nothing else changes.
// FAILED_PRECONDITION for too many open undo windows or remembered rules. REQUIRES: a valid rule.
Result<FamilySchema> change_rule(const FamilySchema& family, const RuleChange& change);

// The family without its newest change that can still be undone, as if that had never been in
// force. Later changes stay, except those that no longer have an effect; if there are none, the
// replaced rule is in force again. FAILED_PRECONDITION if no undo window is open.
Result<FamilySchema> undo_change(const FamilySchema& family, int64_t now_us);

// Whether any change may be undone; and the family as if all those changes had never been made,
// which is what a rule that keeps everything would restore.
bool can_undo(const FamilySchema& family, int64_t now_us);
FamilySchema undone(const FamilySchema& family, int64_t now_us);

// The family without past rules that are no longer needed: all cells are settled up to
// `gc_watermark`, and no earlier change may be undone.
void forget_rules(FamilySchema& family, CommitStamp gc_watermark, int64_t now_us);

}  // namespace cellar::engine
