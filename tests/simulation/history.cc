#include "tests/simulation/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/support/linearizability.h"

namespace cellar::simulation {
namespace {

using Verdict = support::Linearization::Verdict;

// A read that needs no cell to die first only confirms the bounds that its call gives.
class SearchedRow : public RowMachine {
 public:
  using RowMachine::RowMachine;
  bool passive(const RowState& before, const RowOp& op, const RowState& after) const {
    if (op.refused != Refused::no) return true;
    if (op.verb != Verb::read) return false;
    if (op.branch == 0) return confirms(before, op, after);
    return confirms(*before.branches.at(op.branch), op, *after.branches.at(op.branch));
  }

 private:
  static bool confirms(const RowState& before, const RowOp& op, const RowState& after) {
    return after.read_us == std::max({before.read_us, before.commit_us, op.from_us});
  }
};

// Whether the operation wrote the cell: values are written once. Of an append, `value` has a part.
bool wrote(const RowOp& op, const SeenCell& cell) {
  const auto is_it = [&cell](const OwnedMutation& one) {
    return one.kind == Mutation::Kind::set_cell && one.family == cell.family &&
           one.qualifier == cell.qualifier && one.value == cell.value;
  };
  const auto is_part = [&cell](const Modification& one) {
    if (!one.append || one.family != cell.family || one.qualifier != cell.qualifier) return false;
    const size_t at = cell.value.find(*one.append);
    return at != std::string::npos && (at == 0 || cell.value[at - 1] == ';');
  };
  return std::any_of(op.ops.begin(), op.ops.end(), is_it) ||
         std::any_of(op.otherwise.begin(), op.otherwise.end(), is_it) ||
         std::any_of(op.rules.begin(), op.rules.end(), is_part);
}

bool changes_schema(const RowOp& op) {
  return op.branch == 0 && op.refused == Refused::no && op.verb >= Verb::change_rule &&
         op.verb <= Verb::restore_table;
}

bool is_copy(const RowOp& op) {
  return op.refused == Refused::no && (op.verb == Verb::back_up || op.verb == Verb::seal_backup);
}

// Leaves out restorations that nothing has shown, and copies that nothing was restored from, since
// they explain nothing. A copy is sealed at once unless a change of the schema may come between.
std::vector<RowOp> with_needed_copies(std::vector<RowOp> ops) {
  std::set<uint32_t> shown, needed, open;
  for (const RowOp& op : ops) {
    if (op.branch != 0 && op.verb != Verb::restore_backup && op.refused != Refused::absent) {
      shown.insert(op.branch);
    }
  }
  std::erase_if(ops, [&](const RowOp& op) {
    return op.verb == Verb::restore_backup && !op.answered() && !shown.contains(op.branch);
  });
  for (const RowOp& op : ops) {
    if (op.verb == Verb::restore_backup && op.refused == Refused::no) needed.insert(op.backup);
  }
  std::erase_if(ops, [&](const RowOp& op) { return is_copy(op) && !needed.contains(op.backup); });
  for (const RowOp& copy : ops) {
    if (!is_copy(copy)) continue;
    const bool met = std::any_of(ops.begin(), ops.end(), [&](const RowOp& op) {
      return changes_schema(op) && op.call < copy.ret && op.ret > copy.call && op.gone > copy.call;
    });
    if (met) open.insert(copy.backup);
  }
  for (RowOp& op : ops) op.sealed = op.verb == Verb::back_up && !open.contains(op.backup);
  std::erase_if(ops, [&](const RowOp& op) {
    return op.verb == Verb::seal_backup && !open.contains(op.backup);
  });
  return ops;
}

// What is known of operations that were not answered. One whose cell an answer shows took effect
// before that answer was given. Any other takes effect before the machine's next crash after its
// client gave up, or never. Without this the search would try them at every later place too.
std::vector<RowOp> with_bounds(std::vector<RowOp> ops) {
  std::vector<const RowOp*> answers;
  std::vector<uint64_t> crashes;  // ascending
  for (const RowOp& op : ops) {
    if (op.verb == Verb::crash) crashes.push_back(op.call);
    if (op.answered() && !op.seen.empty()) answers.push_back(&op);
  }
  std::sort(answers.begin(), answers.end(),
            [](const RowOp* a, const RowOp* b) { return a->ret < b->ret; });
  const auto crash_after = [&crashes](uint64_t tick) {
    const auto crash = std::upper_bound(crashes.begin(), crashes.end(), tick);
    return crash != crashes.end() ? *crash : UINT64_MAX;
  };
  for (RowOp& op : ops) {
    // A job whose end was seen later only has ended before the crash that ended it.
    if (is_copy(op) && op.given_up != UINT64_MAX) {
      op.ret = std::min(op.ret, crash_after(op.given_up) - (op.verb == Verb::back_up ? 2 : 1));
    }
    if (op.answered()) continue;
    if (op.verb == Verb::restore_backup) {
      op.gone = crash_after(op.given_up);
      for (const RowOp& other : ops) {
        if (other.branch != op.branch || other.verb == Verb::restore_backup) continue;
        if (other.refused == Refused::absent || !other.answered()) continue;
        op.inferred = true;
        op.ret = std::min({op.ret, other.ret, op.gone - 1});
      }
      continue;
    }
    const auto shown = std::find_if(answers.begin(), answers.end(), [&op](const RowOp* answer) {
      return std::any_of(answer->seen.begin(), answer->seen.end(),
                         [&op](const SeenCell& cell) { return wrote(op, cell); });
    });
    op.gone = crash_after(op.given_up);
    if (shown == answers.end()) continue;
    op.inferred = true;
    op.ret = std::min((*shown)->ret, op.gone - 1);
    op.to_us = (*shown)->to_us;
  }
  return with_needed_copies(std::move(ops));
}

std::string report(const std::string& table, const std::string& row, const std::vector<RowOp>& ops,
                   const support::Linearization& found) {
  std::string out = fmt::format(
      "no order of its {} requests explains row '{}' of table '{}'. The longest that does:\n",
      ops.size(), row, table);
  std::vector<bool> placed(ops.size());
  for (const size_t i : found.order) {
    placed[i] = true;
    out += "  " + ops[i].text() + "\n";
  }
  out += "Left:\n";
  std::vector<size_t> left;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!placed[i]) left.push_back(i);
  }
  std::sort(left.begin(), left.end(),
            [&](size_t a, size_t b) { return ops[a].call < ops[b].call; });
  for (const size_t i : left) out += "  " + ops[i].text() + "\n";
  return out;
}

}  // namespace

RowHistories::RowHistories(const Plan& plan)
    : families_(plan.families), granularity_(plan.granularity) {
  for (uint32_t i = 0; i < plan.rows; ++i) {
    rows_.push_back(fmt::format("{}{}", static_cast<char>('b' + 3 * i), i));
  }
  for (uint32_t i = 0; i < plan.tables; ++i) tables_.push_back(i == 0 ? "t" : "u");
}

void RowHistories::add(const std::string& table, const std::string& row, RowOp op) {
  ops_[{table, row}].push_back(std::move(op));
}

void RowHistories::add_to_all(const std::string& table, const RowOp& op) {
  for (const std::string& row : rows_) add(table, row, op);
}

void RowHistories::add_crash() {
  RowOp op;
  op.verb = Verb::crash;
  op.who = "machine";
  op.call = tick();
  op.ret = tick();
  op.to_us = INT64_MAX;
  for (const std::string& table : tables_) add_to_all(table, op);
}

Checked RowHistories::check() const {
  Checked checked;
  for (const auto& [name, recorded] : ops_) {
    const std::vector<RowOp> ops = with_bounds(recorded);
    const SearchedRow machine(families_, granularity_, ops);
    const support::LinearizabilityChecker<SearchedRow> checker(machine);
    const support::Linearization found = checker.check(ops, machine.initial());
    ++checked.rows;
    checked.operations += ops.size();
    checked.steps += found.steps;
    checked.unanswered += static_cast<uint64_t>(
        std::count_if(ops.begin(), ops.end(), [](const RowOp& op) { return !op.answered(); }));
    if (found.verdict == Verdict::undecided) ++checked.undecided;
    if (found.verdict == Verdict::violation && !checked.problem) {
      checked.problem = report(name.first, name.second, ops, found);
    }
  }
  return checked;
}

}  // namespace cellar::simulation
