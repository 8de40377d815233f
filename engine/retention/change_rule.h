// Replacing a family's rule (SEMANTICS 5): what becomes of its history and of the changes that may
// still be undone.
//
// A change *tightens* when the new rule may condemn what the replaced one keeps. For the family's
// undo window it is then only hiding: a rule that *loosens* it, keeping all that the tightened rule
// keeps and more, takes the change back, and history reads as if the tightened rule had never been
// in force. What is taken back is every open change whose rule the new one loosens, newest first.
//
//   versions 3, lowered to 1, raised to 4     history becomes: versions 3, then 4
//   versions 5, lowered to 1, raised to 2     history becomes: versions 5, then 2, which hides anew
//   versions 3, raised to 4                   nothing comes back: nothing was tightened
//   versions 3, replaced by max_age 1 d       tightens (some), so it may be undone; it loosens no
//                                             rule, so it takes nothing back
//
// An *undo* takes the newest open change back whatever rule would be in force instead: also where
// no rule loosens the tightened one, as in the last example.
#pragma once

#include "engine/model/schema.h"
#include "io/base/result.h"

namespace cellar::engine {

struct RuleChange {
  RetentionRule rule;
  CommitStamp stamp;   // of the change: above every commit and every change before it
  int64_t now_us = 0;  // trusted
  // Where a ninth undo window would open, the oldest is closed: what it hid is dead for good.
  bool close_oldest_undo_window = false;
};

// The family with `change.rule` in force, and its history; nothing else of it changes.
// FAILED_PRECONDITION when too many undo windows would be open, or too many rules would have to be
// remembered. REQUIRES: a valid rule.
Result<FamilySchema> change_rule(const FamilySchema& family, const RuleChange& change);

// The family without its newest change that can still be undone, as if it had never been in force.
// Changes made after that one stay, but for those that change nothing any more; where there are
// none, the rule that it replaced is in force again. FAILED_PRECONDITION when no undo window is
// open.
Result<FamilySchema> undo_change(const FamilySchema& family, int64_t now_us);

// Some change may be undone; and the family as if all of those had never been made, which is what a
// rule that keeps everything would bring back.
bool can_undo(const FamilySchema& family, int64_t now_us);
FamilySchema undone(const FamilySchema& family, int64_t now_us);

// The family without the past rules that nothing needs any more: all cells are settled up to there,
// and no change before may be undone.
void forget_rules(FamilySchema& family, CommitStamp settled, int64_t now_us);

}  // namespace cellar::engine
