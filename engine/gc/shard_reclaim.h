// One shard's part of a ReclaimReport.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "engine/gc/pinned_files.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/reclaim_figures.h"

namespace cellar::engine {

// Collects the files to report: sums over all of them, and the worst ones.
class WorstFiles {
 public:
  explicit WorstFiles(size_t most) : most_(most) {}

  void add(ReclaimFile file);
  void merge(WorstFiles&& others);
  std::vector<ReclaimFile> take();  // most overdue bytes first
  uint64_t there() const { return there_; }
  struct Sum {
    uint64_t files = 0;
    uint64_t bytes = 0;
    uint64_t dead_bytes = 0;
    uint64_t overdue_bytes = 0;
  };
  const Sum& of(ReclaimReason reason) const { return sums_[static_cast<size_t>(reason)]; }

 private:
  void keep_worst();

  size_t most_;
  uint64_t there_ = 0;
  std::vector<ReclaimFile> files_;
  std::array<Sum, kReclaimReasons> sums_{};
};

// A tablet's part of a table on disk that also has rows of other tablets.
struct CutTable {
  TableId table;
  TabletId tablet;
  BlobId blob;
  uint64_t all_bytes = 0;  // of its rows
  uint64_t bytes = 0;      // approximate part of these that belongs to the tablet
};

struct ShardReclaim {
  explicit ShardReclaim(size_t most) : files(most) {}
  std::vector<std::pair<TabletId, ReclaimFigures>> figures;
  WorstFiles files;
  std::vector<CutTable> cut;
  std::vector<PinnedFile> pinned;
};

// Leftovers in files that several tablets name or named: rows that no tablet names any more, on
// disk as long as other tablets need the rest.
std::vector<ReclaimFile> shared_leftovers(std::vector<CutTable> cut);

}  // namespace cellar::engine
