// RowMachine: the sequential model of one row, for LinearizabilityChecker: what each request may
// return and leave behind, directly by SEMANTICS 1 to 6. It shares no code with the engine beyond
// the types of requests.
//
// A row has families of three kinds: `versions`, whose rule is max_versions(N) or none; `age`,
// whose rule is max_age(D) or none and whose cells may have an expiry of their own; and `mixed`,
// whose rules have both (mixed_rules.h). In a family of the last kind the instant of a commit
// decides what dies, so a commit whose stamp is not known is tried at every instant at which it
// makes a difference. In these families the client gives timestamps and expiries, because a
// timestamp of the server that no read has returned could have too many values to try.
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
//
// Backups. A backup has each row as of one instant between its begin and its end, and the schema,
// with its history, as of one instant that is the same for all rows or later. So `back_up` copies
// the state, and changes of the schema reach the copy until `seal_backup`. A restored table begins
// as the copy and is independent from then on: its requests carry the number of their branch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/row_state.h"

namespace cellar::simulation {

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
  // A copy is tried first: one that explains what was restored is rarely wrong.
  static bool urgent(const RowOp& op) {
    return op.verb == Verb::back_up || op.verb == Verb::seal_backup;
  }
  // The cells alive at an instant, in the order of a read.
  std::vector<SeenCell> alive(const RowState& state, int64_t now_us, bool newest_only) const;

 private:
  const FamilyPlan& plan(const std::string& family) const;
  bool dead(const RowState::Family& family, const FamilyPlan& plan, int64_t timestamp_us,
            const RowState::Version& version, int64_t now_us) const;
  // `from_us`, and the later instants up to `to_us` at which a cell of the row dies.
  std::vector<int64_t> instants(const RowState& state, int64_t from_us, int64_t to_us) const;
  static void prune(RowState::Columns& columns, int64_t most);
  // Brings every column of a `mixed` family to the instant.
  static void pass(RowState::Family& family, int64_t now_us);
  static void collect(RowState::Family& family, int64_t now_us);

  std::vector<RowState> read(const RowState& state, const RowOp& op) const;
  std::vector<RowState> check(const RowState& state, const RowOp& op) const;
  std::vector<RowState> modify(const RowState& state, const RowOp& op) const;
  std::vector<RowState> change_rule(const RowState& state, const RowOp& op) const;
  std::vector<RowState> undo_rule(const RowState& state, const RowOp& op) const;
  std::vector<RowState> structure(const RowState& state, const RowOp& op) const;
  std::vector<RowState> change_schema(const RowState& state, const RowOp& op) const;
  static std::vector<RowState> crash(const RowState& state);
  std::vector<RowState> copy(const RowState& state, const RowOp& op) const;
  std::vector<RowState> step_branch(const RowState& state, const RowOp& op) const;
  // Applies a change of the schema to the open copies of a state.
  std::vector<RowState> change_copies(RowState state, const RowOp& op) const;
  // Whether what the tables restored from the backup were first seen to hold can be this.
  bool explains(const RowState& copied, uint32_t backup) const;
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
  struct Instants {
    int64_t stamp_us = 0;   // what the server assigns
    int64_t ttl_us = 0;     // from which times to live count
    int64_t commit_us = 0;  // at which what is due is removed
  };
  void place(std::vector<RowState>& out, const RowState& before, const RowOp& op,
             const std::vector<OwnedMutation>& ops, int64_t stamp_us, int64_t ttl_us) const;
  void apply(RowState& state, const std::vector<OwnedMutation>& ops, const Instants& at) const;
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
  std::multimap<uint32_t, RowOp> first_reads_;  // of restored tables, by backup
};

}  // namespace cellar::simulation
