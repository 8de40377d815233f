// RowMachine: the sequential model of one row, for LinearizabilityChecker: what each request may
// return and leave behind, directly by SEMANTICS 1 to 6. It shares no code with the engine beyond
// the types of requests.
//
// A row has families of two kinds: `versions`, whose rule is max_versions(N) or none, and `age`,
// whose rule is max_age(D) or none and whose cells may have an expiry of their own. Rules of both
// kinds, with deletes and expiries, are left to the retention histories (tests/engine/retention).
//
// Time. A request is judged at tablet time, which the caller of the node does not learn; it is
// known to lie in [from_us, to_us]. The answer to most writes tells the commit stamp, which is then
// the time of the commit; stamps ascend. A read may be judged at any instant of its interval at
// which the row changes. Commits and reads each see time that does not go back; a commit may be
// judged before a read that did not see it yet. A timestamp assigned by the server and an expiry
// that counts from the commit are taken from the reads that returned the cell; where no read did,
// any that is possible will do.
//
// Durability. A crash takes back commits of a level below `sync`, newest first, up to the last one
// that is known to be durable. A change of the schema is not taken back; commits before it may be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
  int64_t rule = 0;          // its N or D; 0: keep everything
  bool newest_only = false;  // read: one cell of each column

  std::vector<SeenCell> seen;  // read, modify
  bool matched = false;        // check
  bool answered() const { return ret != UINT64_MAX && !inferred; }
  std::string text() const;
};

struct FamilyPlan {
  std::string name;
  bool versions = true;  // the kind
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
  };
  struct Family {
    bool there = true;
    int64_t rule = 0;
    Columns columns;
    std::vector<Before> undo;  // oldest change first
  };

  bool table = true;
  std::map<std::string, Family> families;
  int64_t commit_us = 0, read_us = 0;
  uint64_t stamp_ns = 0;  // the last commit stamp that an answer told
  std::vector<std::shared_ptr<const RowState>> undurable;  // before each commit a crash may undo
};

class RowMachine {
 public:
  using Op = RowOp;
  using State = RowState;

  // Learns from the operations of one row what its reads have returned.
  RowMachine(std::vector<FamilyPlan> families, Granularity granularity,
             const std::vector<RowOp>& ops);

  RowState initial() const;
  std::vector<RowState> step(const RowState& state, const RowOp& op) const;
  std::string key(const RowState& state) const;
  // Operations with a rank occur in its order. 0: none.
  // By trusted time, which a crash does not take back; within its microsecond see crash().
  static uint64_t rank(const RowOp& op) { return op.stamp_ns / 1'000; }
  static uint64_t gone(const RowOp& op) { return op.gone; }
  // The cells alive at an instant, in the order of a read.
  std::vector<SeenCell> alive(const RowState& state, int64_t now_us, bool newest_only) const;

 private:
  const FamilyPlan& plan(const std::string& family) const;
  bool dead(const RowState::Family& family, const FamilyPlan& plan, int64_t timestamp_us,
            const RowState::Version& version, int64_t now_us) const;
  // `from_us`, and the later instants up to `to_us` at which a cell of the row dies.
  std::vector<int64_t> instants(const RowState& state, int64_t from_us, int64_t to_us) const;
  void prune(RowState::Columns& columns, int64_t most) const;

  std::vector<RowState> read(const RowState& state, const RowOp& op) const;
  std::vector<RowState> check(const RowState& state, const RowOp& op) const;
  std::vector<RowState> modify(const RowState& state, const RowOp& op) const;
  std::vector<RowState> change_rule(const RowState& state, const RowOp& op) const;
  std::vector<RowState> undo_rule(const RowState& state, const RowOp& op) const;
  std::vector<RowState> structure(const RowState& state, const RowOp& op) const;
  std::vector<RowState> change_schema(const RowState& state, const RowOp& op) const;
  static std::vector<RowState> crash(const RowState& state);
  bool refused_rightly(const RowState& state, const RowOp& op) const;
  bool families_there(const RowState& state, const RowOp& op) const;
  std::vector<RowState> commit(const RowState& state, const RowOp& op,
                               const std::vector<OwnedMutation>& ops) const;
  bool expires_unseen(const std::vector<OwnedMutation>& ops) const;
  // The timestamps that the server may have assigned to the commit.
  std::vector<int64_t> stamps(const RowState& state, const RowOp& op,
                              const std::vector<OwnedMutation>& ops) const;
  bool was_read(const std::string& family, const std::string& qualifier,
                const std::string& value) const;
  // Whether a value that a read returned tells the write; a counter may have one value twice.
  enum class Written : uint8_t { once, repeatedly };
  std::vector<int64_t> stamps_of(const RowState& state, const RowOp& op, const std::string& family,
                                 const std::string& qualifier, const std::string& value,
                                 Written written) const;
  // False: the commit cannot have that timestamp.
  bool advance(RowState& state, const RowOp& op, int64_t stamp_us) const;
  void apply(RowState& state, const std::vector<OwnedMutation>& ops, int64_t stamp_us,
             int64_t commit_us) const;
  void apply_to(RowState::Columns& columns, const OwnedMutation& op, int64_t stamp_us,
                int64_t commit_us) const;
  static void weaken(RowState& next, const RowState& before, const RowOp& op);

  struct Observed {
    std::set<int64_t> stamps;
    std::map<std::string, std::set<int64_t>> by_value;
    std::map<std::pair<int64_t, std::string>, int64_t> expiries;
  };
  std::vector<FamilyPlan> plans_;
  const int64_t granule_us_;
  std::map<std::pair<std::string, std::string>, Observed> observed_;
};

}  // namespace cellar::simulation
