#include "engine/gc/reclaim_picker.h"

#include <algorithm>

namespace cellar::engine {
namespace {

// Smaller amounts are rounding errors.
constexpr double kLeastWorkBytes = 1;

// Work that is possible.
struct Candidate {
  ReclaimWork work;
  double overdue = 0;
  std::optional<size_t> blocker;  // a damaged table that the work would read
};

Candidate alone(std::span<const ReclaimInput> tables, size_t i) {
  Candidate candidate;
  candidate.work.table = i;
  candidate.work.dead = std::min(tables[i].dead, tables[i].bytes);
  candidate.work.bytes = tables[i].bytes;
  candidate.overdue = tables[i].overdue;
  if (tables[i].damaged) candidate.blocker = i;
  return candidate;
}

bool is_among(const KilledBy& killed, size_t first_run) {
  return killed.killer == SIZE_MAX ? first_run == 0 : killed.killer >= first_run;
}

// What a merge of the runs from `first_run` on removes of one table.
struct PooledRead {
  double dead = 0;
  double overdue = 0;
  bool flush = false;
};

PooledRead taken_of(const ReclaimInput& table, size_t first_run) {
  PooledRead taken{table.dead, table.overdue};
  for (const KilledBy& killed : table.killed) {
    if (!is_among(killed, first_run)) continue;
    taken.flush |= killed.killer == SIZE_MAX && killed.dead >= kLeastWorkBytes;
    taken.dead += killed.dead;
    taken.overdue += killed.overdue;
  }
  taken.dead = std::min(taken.dead, table.bytes);
  taken.overdue = std::min(taken.overdue, table.bytes);
  return taken;
}

// The merge of all runs from `first_run` on.
Candidate runs_from(std::span<const ReclaimInput> tables, size_t first_run) {
  Candidate candidate;
  candidate.work.first_run = first_run;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].run < first_run) continue;
    if (tables[i].damaged && !candidate.blocker) candidate.blocker = i;
    const PooledRead taken = taken_of(tables[i], first_run);
    candidate.work.flush |= taken.flush;
    candidate.work.bytes += tables[i].bytes;
    candidate.work.dead += taken.dead;
    candidate.overdue += taken.overdue;
  }
  return candidate;
}

std::vector<Candidate> candidates_of(std::span<const ReclaimInput> tables, bool counts) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (tables[i].alone) all.push_back(alone(tables, i));
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    const bool begins_run = i == 0 || tables[i - 1].run != tables[i].run;
    if (!begins_run || (counts && tables[i].run != 0)) continue;
    all.push_back(runs_from(tables, tables[i].run));
  }
  std::erase_if(all, [](const Candidate& one) {
    return one.overdue < kLeastWorkBytes || one.work.bytes <= 0;
  });
  return all;
}

// The candidate that removes the most bytes for what it writes, the first of equals; null: none is
// possible.
const Candidate* best_of(const std::vector<Candidate>& all) {
  const Candidate* best = nullptr;
  double best_yield = 0;
  for (const Candidate& one : all) {
    const double yield = one.work.dead / one.work.bytes;
    if (one.blocker || (best != nullptr && yield <= best_yield)) continue;
    best = &one;
    best_yield = yield;
  }
  return best;
}

// The work removes overdue bytes of table `i`.
bool serves(const Candidate& candidate, std::span<const ReclaimInput> tables, size_t i) {
  if (candidate.work.table)
    return candidate.work.table == i && tables[i].overdue >= kLeastWorkBytes;
  return tables[i].run >= candidate.work.first_run &&
         taken_of(tables[i], candidate.work.first_run).overdue >= kLeastWorkBytes;
}

}  // namespace

std::optional<ReclaimWork> pick_reclaim(std::span<const ReclaimInput> tables, bool counts) {
  const std::vector<Candidate> all = candidates_of(tables, counts);
  const Candidate* best = best_of(all);
  if (best == nullptr) return std::nullopt;
  return best->work;
}

std::vector<std::optional<size_t>> reclaim_blockers(std::span<const ReclaimInput> tables,
                                                    bool counts) {
  const std::vector<Candidate> all = candidates_of(tables, counts);
  std::vector<std::optional<size_t>> blockers(tables.size());
  for (size_t i = 0; i < tables.size(); ++i) {
    for (const Candidate& one : all) {
      if (!serves(one, tables, i)) continue;
      blockers[i] = one.blocker;
      if (!one.blocker) break;
    }
  }
  return blockers;
}

}  // namespace cellar::engine
