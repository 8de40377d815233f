// Taking a backup of a running node (backup.h).
#include <algorithm>
#include <map>
#include <set>

#include "engine/backup/backup_blobs.h"
#include "engine/backup/backup_file.h"
#include "engine/node/backups.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

// The manifest entries for a backup: tablets without spans of logs.
Result<std::map<ManifestKey, ManifestEntry>> entries_of(
    const std::map<ManifestKey, ManifestEntry>& all, const std::set<uint64_t>& tables) {
  std::map<ManifestKey, ManifestEntry> kept;
  for (const auto& [key, held] : all) {
    switch (key.kind) {
      case ManifestKey::Kind::table:
        if (tables.contains(key.id)) kept[key] = held;
        break;
      case ManifestKey::Kind::tablet: {
        TRY(TabletState state, decode_tablet_state(held.state));
        if (!tables.contains(state.table.value())) break;
        state.spans.clear();
        kept[key] = held;
        kept[key].state = encode_tablet_state(state);
        break;
      }
      default:
        kept[key] = held;
    }
  }
  return kept;
}

// The blobs that the entries name, with their approximate sizes in bytes.
Result<std::map<BlobId, uint64_t>> blobs_of(const std::map<ManifestKey, ManifestEntry>& entries) {
  std::map<BlobId, uint64_t> blobs;
  for (const auto& [key, held] : entries) {
    if (key.kind != ManifestKey::Kind::tablet) continue;
    for (const auto& [blob, bytes] : held.items) {
      TRY(const TableItem item, decode_table_item(bytes));
      blobs[BlobId{blob}] = item.meta.file_bytes;
    }
  }
  return blobs;
}

// A backup never replaces another.
Async<Result<void>> check_name_is_free(BackupStore& store, std::string name) {
  CO_TRY(const std::vector<std::string> names, co_await store.names());
  if (std::find(names.begin(), names.end(), name) == names.end()) co_return Result<void>();
  co_return fail(Errc::already_exists, "there is a backup '{}' already", name);
}

// A backup in progress.
class Taking {
 public:
  Taking(BlobStore& blobs, BackupStore& store, const Runtime& runtime, BackupProgress& progress)
      : blobs_(blobs), store_(store), work_(runtime.timers, runtime.executor, progress) {}

  // Finds the blobs that earlier backups, complete or not, have copied.
  Async<Result<void>> look_around() {
    CO_TRY(const std::vector<std::string> names, co_await store_.names());
    for (const std::string& name : names) {
      CO_TRY(const std::string content, co_await store_.read(name));
      CO_TRY(const BackupFile file, decode_backup(content, name));
      for (const BackupBlob& blob : file.blobs) known_[blob.id] = blob;
    }
    CO_TRY(const std::vector<BlobInfo> there, co_await store_.blobs().list());
    for (const BlobInfo& blob : there) {
      if (blob.sealed) there_[blob.id] = blob.size;
    }
    co_return Result<void>();
  }

  Async<Result<void>> bring_all(const std::vector<BlobId>& ids, BackupFile& file,
                                BackupProgress& progress) {
    progress.phase = "copying";
    progress.blobs_total = ids.size();
    for (const BlobId id : ids) {
      CO_TRY(const BackupBlob blob, co_await bring(id));
      file.blobs.push_back(blob);
      ++progress.blobs_done;
      progress.bytes_done += blob.bytes;
    }
    file.copied_bytes = progress.copied_bytes;
    co_return Result<void>();
  }

 private:
  // Ensures that the blob is in the destination, identical to the local one.
  Async<Result<BackupBlob>> bring(BlobId id) {
    CO_TRY(std::optional<BackupBlob> found, co_await found_there(id));
    if (found) co_return *found;
    CO_TRY(const BackupBlob copied, co_await work_.copy(blobs_, store_.blobs(), id));
    CO_TRY_VOID(co_await work_.compare(store_.blobs(), copied));
    CO_TRY_VOID(co_await work_.read_entries(store_.blobs(), id));
    co_return copied;
  }

  Async<Result<std::optional<BackupBlob>>> found_there(BlobId id) {
    std::optional<BackupBlob> found;
    const auto there = there_.find(id);
    if (there == there_.end()) co_return found;
    CO_TRY(const bool same, co_await work_.same_tail(blobs_, store_.blobs(), id));
    if (!same) co_return found;
    const auto known = known_.find(id);
    if (known != known_.end() && known->second.bytes == there->second) {
      found = known->second;
      co_return found;
    }
    // Left by an interrupted backup: finished, but not recorded in any backup's file.
    CO_TRY(found, co_await work_.measure(store_.blobs(), id));
    CO_TRY_VOID(co_await work_.read_entries(store_.blobs(), id));
    co_return found;
  }

  BlobStore& blobs_;
  BackupStore& store_;
  BackupBlobs work_;
  std::map<BlobId, BackupBlob> known_;
  std::map<BlobId, uint64_t> there_;
};

}  // namespace

Async<Result<void>> Backups::hold_blobs(std::optional<std::vector<BlobId>> only) {
  home_deleter_.hold(only);
  auto hold = [this, &only](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).deleter().hold(only);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(hold));
}

Async<Result<void>> Backups::release_blobs() {
  home_deleter_.release();
  auto release = [this](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).deleter().release();
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(release));
}

Async<Result<void>> Backups::take(BackupStore& store, BackupRequest request,
                                  BackupProgress& progress) {
  AsyncMutex::Lock lock = co_await lock_.lock();
  CO_TRY_VOID(co_await hold_blobs(std::nullopt));
  Result<void> done = co_await take_held(store, request, progress);
  const Result<void> released = co_await release_blobs();
  if (done && !released) done = released;
  co_return done;
}

// Tables by name; all of them if no name is given.
Result<std::vector<const TableEntry*>> Backups::tables_named(
    const std::vector<std::string>& names) const {
  std::vector<const TableEntry*> tables;
  if (names.empty()) {
    for (const auto& [name, entry] : catalog_.map().tables()) tables.push_back(entry.get());
  }
  for (const std::string& name : names) {
    const TableEntry* entry = catalog_.map().find(Bytes(name));
    if (entry == nullptr) {
      return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
    }
    tables.push_back(entry);
  }
  return tables;
}

Async<Result<void>> Backups::take_held(BackupStore& store, const BackupRequest& request,
                                       BackupProgress& progress) {
  CO_TRY_VOID(check_backup_name(request.name));
  CO_TRY_VOID(co_await store.claim(request.source));
  CO_TRY_VOID(co_await check_name_is_free(store, request.name));
  Taking taking(shards_.home().blobs, store, shards_.home().runtime, progress);
  CO_TRY_VOID(co_await taking.look_around());
  progress.phase = "flushing";
  CO_TRY(const std::vector<const TableEntry*> named, tables_named(request.tables));
  std::set<uint64_t> ids;
  std::vector<std::string> names;
  for (const TableEntry* entry : named) {
    ids.insert(entry->schema.id.value());
    names.push_back(entry->schema.name);
  }
  for (const std::string& name : names) {
    const Result<void> flushed = co_await calls_.flush(kHomeShard, name);
    // Dropped meanwhile: then the manifest does not have it, or hides it.
    if (!flushed && (flushed.error().code != Errc::not_found || !request.tables.empty())) {
      co_return flushed;
    }
  }
  BackupFile file;
  file.source = request.source;
  file.program = request.program;
  (void)co_await clock_.catch_up();
  CO_TRY(const NodeShards::Stamps stamps,
         co_await shards_.stamps_of(TabletsByShard(shards_.count())));
  file.trusted_us = static_cast<int64_t>(stamps.last.value() / 1000);  // of the latest clock
  file.wall_us = shards_.home().runtime.clock.machine().wall_us();
  CO_TRY(const auto manifest, co_await manifest_.load());
  CO_TRY(file.entries, entries_of(manifest, ids));
  CO_TRY(const auto sizes, blobs_of(file.entries));
  std::vector<BlobId> blobs;
  for (const auto& [id, bytes] : sizes) {
    blobs.push_back(id);
    progress.bytes_total += bytes;
  }
  CO_TRY_VOID(co_await hold_blobs(blobs));
  CO_TRY_VOID(co_await taking.bring_all(blobs, file, progress));
  progress.phase = "naming";
  CO_TRY(const ManifestContents contents, contents_of(file, request.name));
  CO_TRY_VOID(co_await store.write(request.name, encode_backup(file)));
  log_info("backup", "taken name={} tables={} blobs={} bytes={} copied_bytes={}", request.name,
           contents.tables.size(), file.blobs.size(), file.bytes(), file.copied_bytes);
  co_return Result<void>();
}

}  // namespace cellar::engine
