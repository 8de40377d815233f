// RowMachine: rows in backups and in tables that were restored from them.
#include <algorithm>

#include "io/base/check.h"
#include "tests/simulation/row_machine.h"

namespace cellar::simulation {

std::vector<RowState> RowMachine::copy(const RowState& state, const RowOp& op) const {
  RowState next = state;
  if (op.verb == Verb::back_up) {
    auto taken = std::make_shared<RowState>(state);
    taken->undurable.clear();
    taken->backups.clear();
    taken->branches.clear();
    if (op.sealed && !explains(*taken, op.backup)) return {};
    next.backups[op.backup] = {std::move(taken), !op.sealed};
    return {std::move(next)};
  }
  const auto it = next.backups.find(op.backup);
  if (it == next.backups.end()) return {};
  RowState::Copy& copied = it->second;
  if (op.verb == Verb::seal_backup) {
    if (!copied.open || !explains(*copied.row, op.backup)) return {};
    copied.open = false;
    return {std::move(next)};
  }
  CHECK(op.verb == Verb::restore_backup, "verb {}", static_cast<int>(op.verb));
  if (copied.open) return {};
  next.branches[op.branch] = copied.row;
  return {std::move(next)};
}

bool RowMachine::explains(const RowState& copied, uint32_t backup) const {
  const auto [begin, end] = first_reads_.equal_range(backup);
  return std::all_of(begin, end, [&](const auto& one) {
    RowOp op = one.second;
    op.branch = 0;
    return !step(copied, op).empty();
  });
}

std::vector<RowState> RowMachine::step_branch(const RowState& state, const RowOp& op) const {
  const auto it = state.branches.find(op.branch);
  if (it == state.branches.end()) {
    if (op.refused == Refused::absent) return {state};
    return {};
  }
  RowOp plain = op;
  plain.branch = 0;
  std::vector<RowState> out;
  for (RowState& row : step(*it->second, plain)) {
    out.push_back(state);
    out.back().branches[op.branch] = std::make_shared<RowState>(std::move(row));
  }
  return out;
}

std::vector<RowState> RowMachine::change_copies(RowState state, const RowOp& op) const {
  std::vector<RowState> out = {std::move(state)};
  const std::map<uint32_t, RowState::Copy> backups = out.front().backups;
  for (const auto& [number, copied] : backups) {
    if (!copied.open) continue;
    if (!copied.row->table && op.verb != Verb::restore_table) continue;
    const std::vector<RowState> changed = change_schema(*copied.row, op);
    if (changed.empty()) continue;
    std::vector<RowState> all;
    for (const RowState& one : out) {
      for (const RowState& row : changed) {
        all.push_back(one);
        all.back().backups[number] = {std::make_shared<RowState>(row), true};
      }
    }
    out = std::move(all);
  }
  return out;
}

}  // namespace cellar::simulation
