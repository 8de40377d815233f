// ShardReclaim: one shard's part of a ReclaimReport: figures of tablets, the worst files, leftovers
// in shared files, and replaced files that are still on disk.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/files/obsolete_blobs.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/reclaim_figures.h"
#include "engine/tablet/shard_context.h"

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

// A replaced table that is still on disk, and its holders.
struct PinnedFile {
  enum class By : uint8_t { readers, backup, disk };
  ObsoleteBlob blob;
  By by = By::readers;
  uint64_t readers = 0;  // cursors
  std::string error;     // of the disk; from a failed removal
};

// Deadline for data that ended at `since_us` to leave the disk; saturates.
int64_t due_us(int64_t since_us, int64_t within_us, int64_t margin_us);

// Adds files held by cursors of the shard.
void add_read_files(const ShardContext& shard, std::vector<PinnedFile>& files);
// Adds files held by a backup, or whose removal failed.
void add_kept_files(const ObsoleteBlobDeleter& deleter, std::vector<PinnedFile>& files);

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
