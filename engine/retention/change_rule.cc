#include "engine/retention/change_rule.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/retention/step_rule.h"
#include "io/base/time_text.h"

namespace cellar::engine {
namespace {

// rules[i + 1] came into force with the change history[i].
std::vector<RetentionRule> rules_of(const FamilySchema& family) {
  std::vector<RetentionRule> rules;
  for (const PastRule& past : family.history) rules.push_back(past.rule);
  rules.push_back(family.rule);
  return rules;
}

// Rewrites the history as if those changes had never been made.
void rewrite_without(FamilySchema& family, const std::vector<bool>& taken_back) {
  std::vector<PastRule>& history = family.history;
  std::vector<RetentionRule> rules = rules_of(family);
  for (size_t i = 0; i < history.size(); ++i) {
    if (taken_back[i]) rules[i + 1] = rules[i];
  }
  // A change without effect is removed.
  std::vector<PastRule> left;
  for (size_t i = 0; i < history.size(); ++i) {
    if (taken_back[i] || StepRule(rules[i]) == StepRule(rules[i + 1])) continue;
    history[i].rule = rules[i];
    left.push_back(std::move(history[i]));
  }
  history = std::move(left);
  family.rule = std::move(rules.back());
}

// Numbers are no times: a rule of ages from before the family had sequence numbers would kill them.
bool fits(const FamilySchema& family, const RetentionRule& rule) {
  return family.timestamps != TimestampMeaning::sequence || !rule.has(RuleNode::Kind::max_age);
}

// Takes back every open change whose rule `wanted` loosens, unless the rule before it does not fit
// the family any more.
void take_back(FamilySchema& family, const StepRule& wanted, int64_t now_us) {
  const std::vector<RetentionRule> rules = rules_of(family);
  std::vector<bool> taken_back;
  for (size_t i = 0; i < family.history.size(); ++i) {
    const StepRule came(rules[i + 1]);
    taken_back.push_back(family.history[i].can_be_undone(now_us) && fits(family, rules[i]) &&
                         wanted.keeps_all_of(came) && !came.keeps_all_of(wanted));
  }
  rewrite_without(family, taken_back);
}

std::vector<PastRule*> open_windows(FamilySchema& family, int64_t now_us) {
  std::vector<PastRule*> open;
  for (PastRule& past : family.history) {
    if (past.can_be_undone(now_us)) open.push_back(&past);
  }
  return open;
}

Result<void> make_room(FamilySchema& family, const RuleChange& change) {
  std::vector<PastRule*> open = open_windows(family, change.now_us);
  if (open.size() < kMaxUndoWindows) return {};
  if (!change.close_oldest_undo_window)
    return fail(Errc::failed_precondition,
                "family '{}' has {} undo windows open, the most there may be; wait until one ends, "
                "the oldest at {}, or close that",
                family.name, open.size(), told_time(open.front()->undo_until_us));
  open.front()->undo_until_us = 0;
  return {};
}

}  // namespace

Result<FamilySchema> change_rule(const FamilySchema& family, const RuleChange& change) {
  FamilySchema changed = family;
  const StepRule wanted(change.rule);
  if (wanted == StepRule(family.rule)) {
    changed.rule = change.rule;
    return changed;
  }
  take_back(changed, wanted, change.now_us);
  const StepRule replaced(changed.rule);
  if (wanted != replaced) {
    PastRule past{std::move(changed.rule), change.stamp, 0};
    const bool tightens = !wanted.keeps_all_of(replaced);
    if (tightens && family.undo_window_us > 0) {
      TRY_VOID(make_room(changed, change));
      constexpr int64_t kLastUs = std::numeric_limits<int64_t>::max();
      past.undo_until_us = change.now_us > kLastUs - family.undo_window_us
                               ? kLastUs
                               : change.now_us + family.undo_window_us;
    }
    if (changed.history.size() == kMaxPastRules)
      return fail(Errc::failed_precondition,
                  "family '{}' remembers {} rules, the most there may be, until compaction has "
                  "rewritten what is older",
                  family.name, kMaxPastRules);
    changed.history.push_back(std::move(past));
  }
  changed.rule = change.rule;
  return changed;
}

Result<FamilySchema> undo_change(const FamilySchema& family, int64_t now_us) {
  const auto newest =
      std::find_if(family.history.rbegin(), family.history.rend(),
                   [now_us](const PastRule& past) { return past.can_be_undone(now_us); });
  if (newest == family.history.rend())
    return fail(Errc::failed_precondition,
                "family '{}' has no change of its rule that can still be undone", family.name);
  std::vector<bool> taken_back(family.history.size());
  taken_back[static_cast<size_t>(family.history.rend() - newest) - 1] = true;
  FamilySchema undone = family;
  rewrite_without(undone, taken_back);
  return undone;
}

bool can_undo(const FamilySchema& family, int64_t now_us) {
  return std::any_of(family.history.begin(), family.history.end(),
                     [now_us](const PastRule& past) { return past.can_be_undone(now_us); });
}

FamilySchema undone(const FamilySchema& family, int64_t now_us) {
  FamilySchema changed = family;
  take_back(changed, StepRule(), now_us);
  return changed;
}

void forget_rules(FamilySchema& family, CommitStamp gc_watermark, int64_t now_us) {
  const auto needed = std::find_if(family.history.begin(), family.history.end(),
                                   [gc_watermark, now_us](const PastRule& past) {
                                     return past.until > gc_watermark || past.can_be_undone(now_us);
                                   });
  family.history.erase(family.history.begin(), needed);
}

}  // namespace cellar::engine
