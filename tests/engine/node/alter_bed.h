// Helpers of the tests of altered tables: short forms of changes to table "t" and of its contents.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_node.h"

namespace cellar::support {

using engine::TableChange;
using Values = std::vector<std::string>;

inline TableChange of_table() {
  TableChange change;
  change.name = "t";
  return change;
}
inline TableChange adding(std::vector<std::string> families) {
  TableChange change = of_table();
  for (std::string& family : families) change.add.push_back({std::move(family)});
  return change;
}
inline TableChange dropping(std::vector<std::string> families) {
  TableChange change = of_table();
  change.drop = std::move(families);
  return change;
}

// "row family=value" of every cell.
inline Values values(TestNode& node) {
  Values out;
  for (const OwnedCell& cell : node.cells("t")) {
    out.push_back(cell.row + " " + cell.family + "=" + cell.value);
  }
  return out;
}

inline Values families(TestNode& node) {
  Values out;
  for (const FamilySchema& family : node.table("t")->schema.families) out.push_back(family.name);
  return out;
}

inline std::vector<OwnedMutation> one(std::string column, std::string value) {
  std::vector<OwnedMutation> ops;
  ops.push_back(set_cell(std::move(column), 5, std::move(value)));
  return ops;
}

inline TestNodeOptions shards(uint32_t count) {
  TestNodeOptions options;
  options.shards = count;
  return options;
}

}  // namespace cellar::support
