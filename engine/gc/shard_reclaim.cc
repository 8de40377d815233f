#include "engine/gc/shard_reclaim.h"

#include <algorithm>
#include <tuple>

namespace cellar::engine {
namespace {

// Divisor of a file's bytes: smaller leftovers are not reported, because the size of a part is
// known only to a block at either end.
constexpr uint64_t kLeastLeftover = 16;

bool is_worse(const ReclaimFile& a, const ReclaimFile& b) {
  return std::tie(a.overdue_bytes, a.dead_bytes, b.blob) >
         std::tie(b.overdue_bytes, b.dead_bytes, a.blob);
}

bool holds(const Version& version, const TabletTable* table) {
  for (const TabletRun& run : version.runs) {
    for (const Ref<TabletTable>& one : run.tables) {
      if (one.get() == table) return true;
    }
  }
  return false;
}

}  // namespace

void WorstFiles::add(ReclaimFile file) {
  Sum& sum = sums_[static_cast<size_t>(file.reason)];
  ++sum.files;
  sum.bytes += file.bytes;
  sum.dead_bytes += file.dead_bytes;
  sum.overdue_bytes += file.overdue_bytes;
  ++there_;
  files_.push_back(std::move(file));
  if (files_.size() > 2 * most_) keep_worst();
}

void WorstFiles::merge(WorstFiles&& others) {
  for (size_t i = 0; i < kReclaimReasons; ++i) {
    sums_[i].files += others.sums_[i].files;
    sums_[i].bytes += others.sums_[i].bytes;
    sums_[i].dead_bytes += others.sums_[i].dead_bytes;
    sums_[i].overdue_bytes += others.sums_[i].overdue_bytes;
  }
  there_ += others.there_;
  for (ReclaimFile& file : others.files_) files_.push_back(std::move(file));
  keep_worst();
}

std::vector<ReclaimFile> WorstFiles::take() {
  keep_worst();
  return std::move(files_);
}

void WorstFiles::keep_worst() {
  std::sort(files_.begin(), files_.end(), is_worse);
  if (files_.size() > most_) files_.resize(most_);
}

std::vector<ReclaimFile> shared_leftovers(std::vector<CutTable> cut) {
  std::sort(cut.begin(), cut.end(),
            [](const CutTable& a, const CutTable& b) { return a.blob < b.blob; });
  std::vector<ReclaimFile> files;
  for (size_t i = 0; i < cut.size();) {
    uint64_t named = 0;
    const size_t first = i;
    for (; i < cut.size() && cut[i].blob == cut[first].blob; ++i) named += cut[i].bytes;
    const uint64_t all = cut[first].all_bytes;
    if (named + all / kLeastLeftover >= all) continue;
    ReclaimFile file;
    file.tablet = cut[first].tablet;
    file.blob = cut[first].blob;
    file.bytes = all;
    file.dead_bytes = all - named;
    file.reason = ReclaimReason::shared;
    file.count = i - first;
    files.push_back(std::move(file));
  }
  return files;
}

int64_t due_us(int64_t since_us, int64_t within_us, int64_t margin_us) {
  const auto add = [](int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; };
  return add(since_us, add(within_us, margin_us));
}

void add_read_files(const ShardContext& shard, std::vector<PinnedFile>& files) {
  for (const auto& [table, blob] : shard.files.obsolete.pinned()) {
    PinnedFile file{blob, PinnedFile::By::readers, 0, {}};
    for (const Version* version : shard.readers.old_versions) {
      if (holds(*version, table)) file.readers += version->use_count();
    }
    files.push_back(std::move(file));
  }
}

void add_kept_files(const ObsoleteBlobDeleter& deleter, std::vector<PinnedFile>& files) {
  for (const ObsoleteBlob& blob : deleter.held()) {
    files.push_back({blob, PinnedFile::By::backup, 0, {}});
  }
  for (const KeptBlob& kept : deleter.kept()) {
    files.push_back({kept.blob, PinnedFile::By::disk, 0, kept.error.message});
  }
}

}  // namespace cellar::engine
