// What the model of a row works on: requests with their answers, and the state of a row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/types.h"
#include "tests/support/row_model.h"

namespace cellar::simulation {

using support::OwnedMutation;

// A cell that a read or a modification returned.
struct SeenCell {
  std::string family, qualifier;
  int64_t timestamp_us = 0;
  std::string value;
  int64_t expire_at_us = kNoExpiry;
};

struct Modification {
  std::string family, qualifier;
  std::optional<std::string> append;  // absent: increment
  int64_t increment_by = 0;
};

enum class Verb : uint8_t {
  read,
  mutate,
  check,
  modify,
  change_rule,
  undo_rule,
  drop_family,
  add_family,
  drop_table,
  restore_table,
  crash,
  back_up,         // the row as a backup has it
  seal_backup,     // the schema as the backup has it: changes in between are in the backup
  restore_backup,  // as another table, which is a branch of the row
};

// Why the node refused a request; each refusal is true of one state of the row only.
enum class Refused : uint8_t {
  no,
  absent,  // the table, or a family that the request names
  table_exists,
  family_exists,
  no_undo,
};

struct RowOp {
  uint64_t call = 0, ret = 0;  // positions in the history; kNoReturn: not answered
  int64_t from_us = 0, to_us = 0;
  Verb verb = Verb::read;
  std::string who;  // for the report
  Refused refused = Refused::no;
  bool durable = true;             // written at level `sync`
  uint64_t stamp_ns = 0;           // of the commit, where the answer tells it
  uint64_t given_up = UINT64_MAX;  // not answered: when its client had given it up
  uint64_t gone = UINT64_MAX;  // not answered: the crash after that, which ended all its attempts
  bool inferred = false;       // not answered; `ret` is that of a read that returned what it wrote

  std::vector<OwnedMutation> ops, otherwise;  // otherwise: where a condition does not hold
  // check: the newest cell of the column is this value; absent: the row has a cell.
  std::optional<std::pair<std::string, std::string>> expect;  // qualifier of "a", value
  std::vector<Modification> rules;
  std::string family;        // of a change of the schema
  int64_t rule = 0;          // its N or D, or number of a mixed rule; 0: keep everything
  uint32_t backup = 0;       // the number of the backup that is taken or restored
  bool sealed = false;       // back_up: no change of the schema comes between
  uint32_t branch = 0;       // the number of the restored table; 0: the table itself
  bool newest_only = false;  // read: one cell of each column

  std::vector<SeenCell> seen;  // read, modify
  bool matched = false;        // check
  bool answered() const { return ret != UINT64_MAX && !inferred; }
  std::string text() const;
};

enum class FamilyKind : uint8_t {
  versions,  // max_versions(N) or none
  age,       // max_age(D) or none
  mixed,     // one of mixed_rules.h
};
// Rules of the kind `mixed`, from 1.
inline constexpr int64_t kMixedRules = 7;

struct FamilyPlan {
  std::string name;
  FamilyKind kind = FamilyKind::versions;
  int64_t rule = 0;      // at creation
  bool can_undo = true;  // its undo window is longer than any history; else it has none
};

// The state of a row; a value type.
struct RowState {
  struct Version {
    std::string value;
    int64_t expire_at_us = kNoExpiry;
    bool operator==(const Version&) const = default;
  };
  using Column = std::map<int64_t, Version, std::greater<>>;
  using Columns = std::map<std::string, Column>;
  // The family as if a tightening, and those after it, had never been in force.
  struct Before {
    int64_t rule = 0;
    Columns columns;
    bool operator==(const Before&) const = default;
  };
  struct Family {
    bool there = true;
    int64_t rule = 0;
    Columns columns;
    std::vector<Before> undo;  // oldest change first
    int64_t judged_us = 0;     // of the kind `mixed`: the instant at which all columns stand
    bool holds_as(const Family& other) const {
      return columns == other.columns && undo == other.undo;
    }
  };
  // The row in a backup; while it is open, changes of the schema reach it.
  struct Copy {
    std::shared_ptr<const RowState> row;
    bool open = true;
  };

  bool table = true;
  std::map<std::string, Family> families;
  int64_t commit_us = 0, read_us = 0;
  uint64_t stamp_ns = 0;  // the last commit stamp that an answer told
  std::vector<std::shared_ptr<const RowState>> undurable;  // before each commit a crash may undo
  std::map<uint32_t, Copy> backups;                        // by number
  std::map<uint32_t, std::shared_ptr<const RowState>> branches;  // restored, by number
};

}  // namespace cellar::simulation
