#include "engine/gc/pinned_files.h"

namespace cellar::engine {
namespace {

bool holds(const Version& version, const TabletTable* table) {
  for (const TabletRun& run : version.runs) {
    for (const Ref<TabletTable>& one : run.tables) {
      if (one.get() == table) return true;
    }
  }
  return false;
}

}  // namespace

int64_t due_us(int64_t since_us, int64_t within_us, int64_t margin_us) {
  const auto add = [](int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; };
  return add(since_us, add(within_us, margin_us));
}

void add_read_files(const ShardContext& shard, std::vector<PinnedFile>& files) {
  for (const auto& [table, blob] : shard.blob_ends.pinned()) {
    PinnedFile file{blob, PinnedFile::By::readers, 0, {}};
    for (const Version* version : shard.old_versions) {
      if (holds(*version, table)) file.readers += version->use_count();
    }
    files.push_back(std::move(file));
  }
}

void add_kept_files(const ObsoleteBlobDeleter& reaper, std::vector<PinnedFile>& files) {
  for (const ObsoleteBlob& blob : reaper.held()) {
    files.push_back({blob, PinnedFile::By::backup, 0, {}});
  }
  for (const KeptBlob& kept : reaper.kept()) {
    files.push_back({kept.blob, PinnedFile::By::disk, 0, kept.error.message});
  }
}

}  // namespace cellar::engine
