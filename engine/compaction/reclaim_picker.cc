#include "engine/compaction/reclaim_picker.h"

#include <algorithm>

namespace cellar::engine {
namespace {

// Less than a byte is the arithmetic's.
constexpr double kLeastBytes = 1;

class Best {
 public:
  void offer(ReclaimWork work, double overdue) {
    if (overdue < kLeastBytes || work.bytes <= 0) return;
    const double yield = work.dead / work.bytes;
    if (best_ && yield <= best_yield_) return;
    best_ = work;
    best_yield_ = yield;
  }
  const std::optional<ReclaimWork>& get() const { return best_; }

 private:
  std::optional<ReclaimWork> best_;
  double best_yield_ = 0;
};

// All runs from `first_run` on.
void offer_runs(std::span<const ReclaimInput> tables, size_t first_run, Best& best) {
  ReclaimWork work;
  work.first_run = first_run;
  double overdue = 0;
  for (const ReclaimInput& table : tables) {
    if (table.run < first_run) continue;
    if (table.damaged) return;
    double dead = table.dead;
    double late = table.overdue;
    for (const KilledBy& killed : table.killed) {
      const bool by_memtable = killed.killer == SIZE_MAX;
      if (by_memtable ? first_run != 0 : killed.killer < first_run) continue;
      work.flush |= by_memtable && killed.dead >= kLeastBytes;
      dead += killed.dead;
      late += killed.overdue;
    }
    work.bytes += table.bytes;
    work.dead += std::min(dead, table.bytes);
    overdue += std::min(late, table.bytes);
  }
  best.offer(work, overdue);
}

}  // namespace

std::optional<ReclaimWork> pick_reclaim(std::span<const ReclaimInput> tables, bool counts) {
  Best best;
  for (size_t i = 0; i < tables.size(); ++i) {
    const ReclaimInput& table = tables[i];
    if (!table.alone || table.damaged) continue;
    ReclaimWork work;
    work.table = i;
    work.dead = std::min(table.dead, table.bytes);
    work.bytes = table.bytes;
    best.offer(work, table.overdue);
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    const bool begins_run = i == 0 || tables[i - 1].run != tables[i].run;
    if (begins_run && (!counts || tables[i].run == 0)) offer_runs(tables, tables[i].run, best);
  }
  return best.get();
}

}  // namespace cellar::engine
