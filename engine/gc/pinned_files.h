// PinnedFile: a replaced table that is still on disk, and its holders.
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
  std::string error;     // of the disk; from a failed removal
};

// Deadline for data that ended at `since_us` to leave the disk; saturates.
int64_t due_us(int64_t since_us, int64_t within_us, int64_t margin_us);

// Adds files held by cursors of the shard.
void add_read_files(const ShardContext& shard, std::vector<PinnedFile>& files);
// Adds files held by a backup, or whose removal failed.
void add_kept_files(const ObsoleteBlobDeleter& reaper, std::vector<PinnedFile>& files);

}  // namespace cellar::engine
