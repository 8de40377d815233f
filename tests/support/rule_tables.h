// The table of the tests of rules: "t" with one family "f", in two tablets, and changes of its
// rule.
#pragma once

#include "engine/catalog/table_change.h"
#include "tests/support/test_node.h"

namespace cellar::support {

inline engine::TableSpec table_of_rule(RetentionRule rule, int64_t undo_window_us) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.granularity = Granularity::micros;
  spec.splits = {"m"};
  engine::FamilySpec& family = spec.families.emplace_back();
  family.name = "f";
  family.rule = std::move(rule);
  family.undo_window_us = undo_window_us;
  return spec;
}

// A change of the family that sets nothing yet.
inline engine::TableChange change_of_f() {
  engine::TableChange change;
  change.name = "t";
  change.alter.emplace_back().name = "f";
  return change;
}

inline engine::TableChange rule_of_f(RetentionRule rule) {
  engine::TableChange change = change_of_f();
  change.alter[0].rule = std::move(rule);
  return change;
}

}  // namespace cellar::support
