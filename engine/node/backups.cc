#include "engine/node/backups.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/backup/backup_blobs.h"
#include "engine/backup/backup_file.h"
#include "engine/catalog/audit_trail.h"
#include "engine/read/block_load.h"
#include "engine/sstable/table_slice.h"
#include "engine/sstable/table_writer.h"
#include "engine/store/blob/blob_files.h"
#include "io/base/log.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// ---- taking a backup of a running node

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

// How often a backup flushes what was being made, or was restored, while it began, and the pause
// before it does so again.
constexpr int kFlushAttempts = 20;
constexpr int64_t kFlushPauseUs = 50'000;

// A table that was not found when it was to be flushed must not exist: otherwise the manifest has
// it without what is in its memtables.
Result<void> check_unflushed(const std::map<ManifestKey, ManifestEntry>& manifest,
                             const std::map<uint64_t, std::string>& unflushed) {
  if (unflushed.empty()) return {};
  TRY(const ManifestContents contents, decode_manifest(manifest));
  for (const auto& [id, name] : unflushed) {
    const auto table = contents.tables.find(TableId{id});
    if (table == contents.tables.end() || table->second.drop) continue;
    return fail(Errc::unavailable,
                "table '{}' was made or restored while the backup began; take it again",
                escape_bytes(name));
  }
  return {};
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

}  // namespace

// A backup in progress.
class Backups::Taking {
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
    // A file that earlier backups name is only replaced by the bytes that they have measured.
    const auto known = known_.find(id);
    if (known != known_.end()) {
      CO_TRY(const BackupBlob here, co_await work_.measure(blobs_, id));
      if (here.bytes != known->second.bytes || here.crc != known->second.crc) {
        co_return fail(Errc::data_loss,
                       "{} is not what an earlier backup has of it; its copy there is kept",
                       blob_path(id));
      }
    }
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
    auto left = co_await measure_left(id);
    if (!left && left.error().code == Errc::data_loss) co_return found;  // copied anew
    CO_TRY(found, std::move(left));
    co_return found;
  }

  Async<Result<BackupBlob>> measure_left(BlobId id) {
    CO_TRY(const BackupBlob left, co_await work_.measure(store_.blobs(), id));
    CO_TRY_VOID(co_await work_.read_entries(store_.blobs(), id));
    co_return left;
  }

  BlobStore& blobs_;
  BackupStore& store_;
  BackupBlobs work_;
  std::map<BlobId, BackupBlob> known_;
  std::map<BlobId, uint64_t> there_;
};

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
  CO_TRY_VOID(check_backup_name(request.name));
  CO_TRY_VOID(co_await store.claim(request.source));
  CO_TRY_VOID(co_await check_name_is_free(store, request.name));
  Taking taking(shards_.home().blobs, store, shards_.home().runtime, progress);
  CO_TRY_VOID(co_await taking.look_around());
  // Not while the destination is only looked at: it may be slow.
  CO_TRY_VOID(co_await hold_blobs(std::nullopt));
  Result<void> done = co_await take_held(taking, store, request, progress);
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

// Removes what it has flushed. One that does not exist is left: it was dropped meanwhile.
Async<Result<void>> Backups::flush_each(std::map<uint64_t, std::string>& tables, bool must) {
  const std::map<uint64_t, std::string> all = tables;
  for (const auto& [id, name] : all) {
    const Result<void> flushed = co_await calls_.flush(kHomeShard, name);
    if (!flushed && (flushed.error().code != Errc::not_found || must)) co_return flushed;
    if (flushed) tables.erase(id);
  }
  co_return Result<void>();
}

Async<Result<void>> Backups::take_held(Taking& taking, BackupStore& store,
                                       const BackupRequest& request, BackupProgress& progress) {
  progress.phase = "flushing";
  CO_TRY(const std::vector<const TableEntry*> named, tables_named(request.tables));
  std::set<uint64_t> ids;
  std::map<uint64_t, std::string> unflushed;
  for (const TableEntry* entry : named) {
    ids.insert(entry->schema.id.value());
    unflushed[entry->schema.id.value()] = entry->schema.name;
  }
  BackupFile file;
  file.source = request.source;
  file.program = request.program;
  std::map<ManifestKey, ManifestEntry> manifest;
  for (int attempt = 1;; ++attempt) {
    CO_TRY_VOID(co_await flush_each(unflushed, !request.tables.empty()));
    (void)co_await clock_.catch_up();
    CO_TRY(const NodeShards::Stamps stamps,
           co_await shards_.stamps_of(TabletsByShard(shards_.count())));
    file.trusted_us = static_cast<int64_t>(stamps.last.value() / 1000);  // of the latest clock
    file.wall_us = shards_.home().runtime.clock.machine().wall_us();
    CO_TRY(manifest, co_await manifest_.load());
    const Result<void> complete = check_unflushed(manifest, unflushed);
    if (complete) break;
    if (attempt == kFlushAttempts) co_return complete;
    co_await sleep_us(shards_.home().runtime.timers, kFlushPauseUs);
  }
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

// ---- restoring a table of a backup as a new table
//
// The SSTables are rewritten entry by entry, because blob ids belong to one directory and are part
// of every checksum. So all entries are verified, and a table shared with a neighbour tablet is cut
// to the tablet's rows. No entry is judged or dropped: stamps, deletes, markers and rules are kept,
// and reads decide as before.
//
//   write every SSTable -> plan -> open the tablets, invisible to callers -> one edit -> serve
//
// Before the edit the table is not visible: a failure or a crash leaves only blobs that no tablet
// names.

namespace {

class Rewriting {
 public:
  Rewriting(BackupStore& store, BlobStore& blobs, BlobIds& ids, const Runtime& runtime,
            BackupProgress& progress, const std::vector<IndexSchema>& indexes)
      : store_(store),
        blobs_(blobs),
        ids_(ids),
        indexes_(indexes),
        work_(runtime.timers, runtime.executor, progress) {}

  // Replaces the tablets' tables by ones of this directory.
  Async<Result<void>> run(const BackupFile& file, std::vector<TabletSeed>& tablets) {
    work_.progress().phase = "restoring";
    for (const TabletSeed& tablet : tablets) {
      work_.progress().blobs_total += tablet.tables.size();
      for (const TableItem& item : tablet.tables) {
        work_.progress().bytes_total += item.meta.file_bytes;
      }
    }
    for (TabletSeed& tablet : tablets) {
      std::vector<TableItem> written;
      for (const TableItem& item : tablet.tables) {
        CO_TRY_VOID(co_await compare(file, item.meta.blob));
        CO_TRY_VOID(co_await rewrite(tablet, item, written));
        ++work_.progress().blobs_done;
        work_.progress().bytes_done += item.meta.file_bytes;
      }
      tablet.tables = std::move(written);
    }
    co_return Result<void>();
  }

  // No tablet names the written blobs.
  Async<void> undo() {
    for (const BlobId blob : made_) {
      const Result<void> removed = co_await blobs_.remove(blob);
      if (!removed) log_warn("backup", "blob={:016x} stays until the next start", blob.value());
    }
  }

 private:
  Async<Result<void>> compare(const BackupFile& file, BlobId id) {
    for (const BackupBlob& blob : file.blobs) {
      if (blob.id == id) co_return co_await work_.compare(store_.blobs(), blob);
    }
    co_return fail(Errc::data_loss, "the backup names blob {:x} and does not have it", id);
  }

  Async<Result<void>> rewrite(const TabletSeed& tablet, const TableItem& item,
                              std::vector<TableItem>& written) {
    CO_TRY(std::unique_ptr<TableReader> table,
           co_await work_.open_table(store_.blobs(), item.meta.blob));
    const TableSlice slice(*table, item.rows);
    TableWriterOptions options;
    CO_TRY(options.blob, ids_.next_blob_id());
    options.table = tablet.state.table;
    options.tablet = tablet.id;
    options.tablet_start = tablet.state.start;
    options.tablet_end = tablet.state.end;
    options.run = table->meta().run;
    options.gc_watermark = table->meta().gc_watermark;
    options.compression = table->meta().compression;
    options.block_bytes = table->meta().block_bytes;
    if (table->top_index() != nullptr) options.part_bytes = PartsWriter::kPartBytes;
    options.indexes = indexes_of(table->meta());
    const BlobId blob = options.blob;
    CO_TRY(auto out, co_await blobs_.create(blob, 0, IoClass::compaction));
    TableWriter writer(std::move(options), std::move(out));
    for (const RangeTombstone& range : slice.range_deletes()) writer.add_range_delete(range);
    const Result<void> copied = co_await copy_entries(slice, writer);
    if (!copied || writer.empty()) {
      const Result<void> abandoned = co_await writer.abandon();
      co_return copied ? abandoned : copied;
    }
    Result<TableMeta> meta = co_await writer.finish();
    if (!meta) {
      // Writes may still be in flight, and no tablet names the file.
      const Result<void> abandoned = co_await writer.abandon();
      (void)abandoned;  // the first error is returned
      co_return std::unexpected(std::move(meta).error());
    }
    made_.push_back(blob);
    written.push_back({.meta = *std::move(meta), .rows = {}});
    co_return Result<void>();
  }

  // Those that the table has all of: the rest is built later, in tables of bounded size.
  IndexSetRef indexes_of(const TableMeta& table) const {
    std::vector<IndexSchema> had;
    for (const IndexSchema& index : indexes_) {
      const IndexSection* section = table.section_of(index.id);
      if (section != nullptr && section->omitted_to_us == INT64_MIN) had.push_back(index);
    }
    return make_index_set(had);
  }

  Async<Result<void>> copy_entries(const TableSlice& slice, TableWriter& writer) {
    SliceIterator it(slice, TableIteratorOptions::for_compaction());
    int taken = 0;
    for (Step step = it.seek(""); step != Step::end;) {
      if (step == Step::failed) co_return std::unexpected(it.error());
      if (step == Step::blocked) {
        CO_TRY_VOID(work_.check_cancelled());
        co_await load_blocks(it);
        step = it.resume();
        continue;
      }
      writer.add(it.key(), it.value());
      if (writer.wants_flush()) {
        co_await work_.pause(TableWriter::kFlushBytes);
        CO_TRY_VOID(co_await writer.flush());
      }
      if (++taken % BackupBlobs::kSliceEntries == 0) co_await yield_now();
      step = it.next();
    }
    co_return Result<void>();
  }

  BackupStore& store_;
  BlobStore& blobs_;
  BlobIds& ids_;
  const std::vector<IndexSchema>& indexes_;
  BackupBlobs work_;
  std::vector<BlobId> made_;
};

// The table and its tablets, in row order.
Result<TableSchema> pick_table(const ManifestContents& contents, const RestoreRequest& request,
                               std::vector<TabletSeed>& tablets) {
  for (const auto& [id, table] : contents.tables) {
    if (table.drop || table.schema.name != request.table) continue;
    for (const TabletSeed& seed : contents.tablets) {
      if (seed.state.table == id) tablets.push_back(seed);
    }
    std::sort(tablets.begin(), tablets.end(), [](const TabletSeed& a, const TabletSeed& b) {
      return a.state.start < b.state.start;
    });
    TableSchema schema = table.schema;
    schema.name = request.new_table;
    return schema;
  }
  return fail(Errc::not_found, "backup '{}' holds no table '{}'", request.name,
              escape_bytes(request.table));
}

// The latest time at which answers may have been given where the backup was taken.
int64_t time_of(const BackupFile& file, const TableSchema& schema,
                const std::vector<TabletSeed>& tablets) {
  CommitStamp last = last_rule_change(schema);
  for (const TabletSeed& seed : tablets) {
    last = std::max({last, seed.state.created, seed.state.last_flushed});
  }
  return std::max(file.trusted_us, static_cast<int64_t>(last.value() / 1000));
}

std::unexpected<Error> too_early(int64_t by_us) {
  return fail(Errc::failed_precondition,
              "trusted time here is {} us behind the backup's: what was dead would be seen again",
              by_us);
}

}  // namespace

Async<Result<TableEntry>> Backups::restore(BackupStore& store, RestoreRequest request, Author by,
                                           BackupProgress& progress) {
  AsyncMutex::Lock lock = co_await lock_.lock();
  co_return co_await restore_locked(store, request, std::move(by), progress);
}

Async<Result<TableEntry>> Backups::restore_locked(BackupStore& store, const RestoreRequest& request,
                                                  Author by, BackupProgress& progress) {
  CO_TRY(const std::string content, co_await store.read(request.name));
  CO_TRY(const BackupFile file, decode_backup(content, request.name));
  CO_TRY(const ManifestContents contents, contents_of(file, request.name));
  std::vector<TabletSeed> tablets;
  CO_TRY(TableSchema schema, pick_table(contents, request, tablets));
  if (catalog_.map().find(Bytes(request.new_table)) != nullptr) {
    co_return fail(Errc::already_exists, "table '{}' exists already",
                   escape_bytes(request.new_table));
  }
  (void)co_await clock_.catch_up();
  const int64_t taken_us = time_of(file, schema, tablets);
  if (shards_.now_us() + ClockKeeper::kSlackUs < taken_us)
    co_return too_early(taken_us - shards_.now_us());
  progress.phase = "restoring";
  for (const TabletSeed& tablet : tablets) {
    progress.blobs_total += tablet.tables.size();
    for (const TableItem& item : tablet.tables) progress.bytes_total += item.meta.file_bytes;
  }
  Rewriting rewriting(store, shards_.home().blobs, shards_.engine(kHomeShard).blob_ids(),
                      shards_.home().runtime, progress, schema.indexes);
  const Result<void> written = co_await rewriting.run(file, tablets);
  if (!written) {
    co_await rewriting.undo();
    co_return std::unexpected(written.error());
  }
  progress.phase = "opening";
  Result<TableEntry> adopted;
  if (const Result<void> reached = co_await reach_time(taken_us); !reached) {
    adopted = std::unexpected(reached.error());
  } else {
    AuditDetail detail{"from_backup", request.table, request.name};
    adopted = co_await creations_.adopt(std::move(schema), std::move(tablets), std::move(detail),
                                        std::move(by));
  }
  // After an edit of unknown outcome only the next start knows whether the blobs are named.
  if (!adopted && adopted.error().applied != Applied::maybe_applied) co_await rewriting.undo();
  co_return adopted;
}

Async<Result<void>> Backups::reach_time(int64_t wanted_us) {
  constexpr int64_t kLookUs = 10'000;
  const Runtime& runtime = shards_.home().runtime;
  const int64_t until_us = runtime.timers.now_us() + 2 * ClockKeeper::kSlackUs;
  while (runtime.clock.ask_us() < wanted_us) {
    if (runtime.timers.now_us() > until_us) co_return too_early(wanted_us - shards_.now_us());
    co_await sleep_us(runtime.timers, kLookUs);
  }
  auto raise = [this, wanted_us](ShardId shard) -> Async<Result<void>> {
    shards_.env(shard).runtime.clock.raise(wanted_us);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(raise));
}

}  // namespace cellar::engine
