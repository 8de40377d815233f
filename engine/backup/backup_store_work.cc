// Operations on backups without a node: list, verify, prune, restore into a new directory.
#include <algorithm>
#include <set>
#include <tuple>

#include "engine/backup/backup.h"
#include "engine/backup/backup_blobs.h"
#include "engine/backup/backup_file.h"
#include "engine/manifest/whole_manifest.h"
#include "engine/store/blob/blob_files.h"

namespace cellar::engine {
namespace {

Async<Result<BackupFile>> read_backup(BackupStore& store, std::string name) {
  CO_TRY(const std::string content, co_await store.read(name));
  co_return decode_backup(content, name);
}

Result<BackupSummary> summary_of(const BackupFile& file, std::string name) {
  TRY(const ManifestContents contents, contents_of(file, name));
  BackupSummary summary;
  summary.name = std::move(name);
  summary.program = file.program;
  summary.wall_us = file.wall_us;
  summary.trusted_us = file.trusted_us;
  for (const auto& [id, table] : contents.tables) summary.tables.push_back(table.schema.name);
  summary.blobs = file.blobs.size();
  summary.bytes = file.bytes();
  summary.copied_bytes = file.copied_bytes;
  return summary;
}

void begin_phase(BackupProgress& progress, std::string_view phase, const BackupFile& file) {
  progress.phase = phase;
  progress.bytes_total = file.bytes();
  progress.blobs_total = file.blobs.size();
  progress.bytes_done = 0;
  progress.blobs_done = 0;
}

void count_blob(BackupProgress& progress, const BackupBlob& blob) {
  progress.bytes_done += blob.bytes;
  ++progress.blobs_done;
}

}  // namespace

Async<Result<std::vector<BackupSummary>>> list_backups(BackupStore& store) {
  std::vector<BackupSummary> all;
  CO_TRY(const std::vector<std::string> names, co_await store.names());
  for (const std::string& name : names) {
    CO_TRY(const BackupFile file, co_await read_backup(store, name));
    CO_TRY(BackupSummary summary, summary_of(file, name));
    all.push_back(std::move(summary));
  }
  std::sort(all.begin(), all.end(), [](const BackupSummary& a, const BackupSummary& b) {
    return std::tie(a.wall_us, a.name) < std::tie(b.wall_us, b.name);
  });
  co_return all;
}

Async<Result<BackupSummary>> verify_backup(BackupStore& store, std::string name, Timers& timers,
                                           ShardExecutor executor, BackupProgress& progress) {
  CO_TRY(const BackupFile file, co_await read_backup(store, name));
  CO_TRY(BackupSummary summary, summary_of(file, std::move(name)));
  begin_phase(progress, "verifying", file);
  BackupBlobs blobs(timers, executor, progress);
  for (const BackupBlob& blob : file.blobs) {
    CO_TRY_VOID(co_await blobs.compare(store.blobs(), blob));
    CO_TRY_VOID(co_await blobs.read_entries(store.blobs(), blob.id));
    count_blob(progress, blob);
  }
  co_return summary;
}

Async<Result<std::vector<std::string>>> prune_backups(BackupStore& store, uint32_t keep,
                                                      int64_t taken_from_us) {
  CO_TRY(const std::vector<BackupSummary> all, co_await list_backups(store));
  const size_t kept = std::max<size_t>(keep, 1);
  std::vector<std::string> gone;
  std::set<BlobId> named;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool newest = i + 1 == all.size();
    if (i + kept < all.size() || (!newest && all[i].wall_us < taken_from_us)) {
      CO_TRY_VOID(co_await store.remove(all[i].name));
      gone.push_back(all[i].name);
      continue;
    }
    CO_TRY(const BackupFile file, co_await read_backup(store, all[i].name));
    for (const BackupBlob& blob : file.blobs) named.insert(blob.id);
  }
  CO_TRY_VOID(co_await store.remove_remains());
  CO_TRY(const std::vector<BlobInfo> there, co_await store.blobs().list());
  for (const BlobInfo& blob : there) {
    if (blob.sealed && named.contains(blob.id)) continue;
    if (!blob.sealed && named.contains(blob.id)) continue;  // replaced when it is copied again
    CO_TRY_VOID(co_await store.blobs().remove(blob.id));
  }
  co_return gone;
}

Async<Result<BackupSummary>> restore_directory(BackupStore& store, std::string name,
                                               BlobStore& blobs, ManifestStore& manifest,
                                               int64_t wall_us, Timers& timers,
                                               ShardExecutor executor, BackupProgress& progress) {
  CO_TRY(const auto there, co_await manifest.load());
  if (!there.empty()) {
    co_return fail(Errc::failed_precondition,
                   "the data directory holds a store already; a backup is restored into a new one");
  }
  CO_TRY(const BackupFile file, co_await read_backup(store, name));
  CO_TRY(BackupSummary summary, summary_of(file, std::move(name)));
  if (wall_us < file.trusted_us) {
    co_return fail(Errc::failed_precondition,
                   "this machine's clock is {} us behind the backup's: what was dead would be seen "
                   "again; set the clock",
                   file.trusted_us - wall_us);
  }
  begin_phase(progress, "restoring", file);
  BackupBlobs work(timers, executor, progress);
  for (const BackupBlob& blob : file.blobs) {
    CO_TRY_VOID(co_await work.compare(store.blobs(), blob));
    CO_TRY(const BackupBlob copied, co_await work.copy(store.blobs(), blobs, blob.id));
    if (copied != blob) {
      co_return fail(Errc::data_loss, "{} changed while it was read", blob_path(blob.id));
    }
    CO_TRY_VOID(co_await work.compare(blobs, blob));
    CO_TRY_VOID(co_await work.read_entries(blobs, blob.id));
    count_blob(progress, blob);
  }
  progress.phase = "naming";
  auto entries = file.entries;
  // The new directory's clock begins with the machine's, which is checked not to be behind.
  std::erase_if(entries,
                [](const auto& entry) { return entry.first.kind == ManifestKey::Kind::clock; });
  CO_TRY_VOID(co_await write_whole_manifest(manifest, entries));
  co_return summary;
}

}  // namespace cellar::engine
