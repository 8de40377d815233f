// PinnedFile: a table that its tablet has replaced and that is still on disk, and who holds it.
#pragma once

#include <string>
#include <vector>

#include "engine/files/obsolete_blobs.h"
#include "engine/tablet/shard_context.h"

namespace cellar::engine {

struct PinnedFile {
  enum class By : uint8_t { readers, backup, disk };
  ObsoleteBlob blob;
  By by = By::readers;
  uint64_t readers = 0;  // cursors
  std::string error;     // of the disk
};

// When what ended at `since_us` should have left the disk; saturates.
int64_t due_us(int64_t since_us, int64_t within_us, int64_t margin_us);

// Those that cursors of the shard hold.
void add_read_files(const ShardContext& shard, std::vector<PinnedFile>& files);
// Those that a backup holds, or that could not be removed.
void add_kept_files(const ObsoleteBlobDeleter& reaper, std::vector<PinnedFile>& files);

}  // namespace cellar::engine
