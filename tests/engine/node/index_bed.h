// Helpers of the tests of index definitions on table "t".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/index_state.h"
#include "tests/engine/node/alter_bed.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {

using engine::IndexChange;
using engine::IndexSpec;

// On column f:q by value.
inline IndexSpec index_spec(std::string name, std::string family = "f") {
  IndexSpec spec;
  spec.name = std::move(name);
  spec.family = std::move(family);
  spec.qualifier = "q";
  spec.parts = {IndexPart::value};
  return spec;
}
inline TableChange creating(IndexSpec spec) {
  TableChange change = of_table();
  change.add_indexes.push_back(std::move(spec));
  return change;
}
inline TableChange altering_index(IndexChange index) {
  TableChange change = of_table();
  change.alter_indexes.push_back(std::move(index));
  return change;
}
inline TableChange dropping_indexes(std::vector<std::string> names) {
  TableChange change = of_table();
  change.drop_indexes = std::move(names);
  return change;
}
inline TableChange ruling(std::string family, RetentionRule rule) {
  TableChange change = of_table();
  change.alter.push_back({.name = std::move(family), .rule = std::move(rule)});
  return change;
}

// "OK" or the status.
template <class T>
std::string status(const Result<T>& result) {
  return result ? "OK" : std::string(errc_name(result.error().code));
}

inline std::vector<std::string> index_names(TestNode& node) {
  std::vector<std::string> names;
  for (const IndexSchema& index : node.table("t")->schema.indexes) names.push_back(index.name);
  return names;
}

}  // namespace cellar::support
