// Dropping tables, restoring them, and their removal (SEMANTICS 5).
//
// A dropped table that can be restored is unreachable by name. Its manifest entry has a mark: when
// it was dropped, and until when it can be restored, which is the longest undo window of its
// families. The table maps omit it, so its name is free. Its tablets stay on their shards, hidden:
// they accept no writes and no reads, but flush, merge and are reclaimed like all others. So their
// cells continue to age, they do not retain logs, a start opens them like other tablets for any
// number of shards, and shared blobs are counted as before. Such a table costs as much as an idle
// table.
//
//   drop      edit: the mark        -> every map without it -> tablets hidden -> answer
//   restore   edit: no mark         -> tablets shown -> every map with it     -> answer
//   end       edit: table and tablets removed -> blobs are removed after their last reader
//
// Each step is one manifest edit, so a crash leaves the table before or after it. Without an undo
// window a drop ends the table at once. Otherwise DropKeeper ends it (drop_keeper.h), after the
// margin of physical removal; from the first microsecond after the window the table cannot be
// restored, whether or not it has been removed.
//
// Bounds. Dropped tables count among the kMaxTables of the node until their end: at the bound no
// table can be created, but every table can be dropped and every dropped table restored.
#include <algorithm>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "engine/node/node_impl.h"
#include "io/base/log.h"

namespace cellar::engine {

// ---- drop

Async<Result<void>> NodeImpl::drop_table(ShardId from, std::string name, Author by) {
  auto there = [this, mine = std::move(name), who = std::move(by)]() mutable {
    return drop_here(std::move(mine), std::move(who));
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<void>> NodeImpl::drop_here(std::string name, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  CO_TRY(Catalog::Drop drop, catalog_.plan_drop(name, now_us()));
  std::vector<AuditEntry> entries;
  entries.push_back(entry_about(AuditAction::drop_table, drop.entry.schema));
  if (!drop.mark) co_return co_await end_table(std::move(drop), std::move(entries), std::move(by));
  entries.front().details.push_back(
      {"restorable_until_us", "", fmt::format("{}", drop.mark->restorable_until_us)});
  std::vector<VersionEdit> edits;
  edits.push_back(drop.table_edit);
  CO_TRY(const std::vector<uint64_t> versions,
         co_await commit_change(std::move(edits), std::move(entries), std::move(by)));
  catalog_.dropped(drop, versions.front());
  CO_TRY_VOID(co_await publish());
  CO_TRY_VOID(co_await hide_tablets(drop.entry, true));
  drop_keeper_.wake();
  co_return Result<void>{};
}

Async<Result<void>> NodeImpl::hide_tablets(const TableEntry& entry, bool hidden) {
  const std::vector<std::vector<TabletId>> ids = tablets_of(entry);
  auto hide = [this, &ids, hidden](ShardId shard) -> Async<Result<void>> {
    part(shard).engine.hide(ids[shard.value()], hidden);
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(hide));
}

// ---- restore

Async<Result<TableEntry>> NodeImpl::restore_table(ShardId from, std::string name, Author by) {
  auto there = [this, mine = std::move(name), who = std::move(by)]() mutable {
    return restore_here(std::move(mine), std::move(who));
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<TableEntry>> NodeImpl::restore_here(std::string name, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  CO_TRY(Catalog::Restoration restoration, catalog_.plan_restore(name, now_us()));
  std::vector<AuditEntry> entries;
  entries.push_back(entry_about(AuditAction::restore_table, restoration.entry.schema));
  std::vector<VersionEdit> edits;
  edits.push_back(restoration.table_edit);
  CO_TRY(const std::vector<uint64_t> versions,
         co_await commit_change(std::move(edits), std::move(entries), std::move(by)));
  catalog_.restored(restoration, versions.front());
  CO_TRY_VOID(co_await hide_tablets(restoration.entry, false));
  CO_TRY_VOID(co_await publish());
  drop_keeper_.wake();
  co_return std::move(restoration.entry);
}

Async<std::vector<DroppedTable>> NodeImpl::dropped_tables(ShardId from) {
  auto there = [this] { return dropped_here(); };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<std::vector<DroppedTable>> NodeImpl::dropped_here() {
  std::vector<DroppedTable> tables;
  for (const auto& [id, table] : catalog_.dropped()) {
    if (table.mark.restorable_until_us >= now_us()) tables.push_back(table);
  }
  for (uint32_t i = 0; i < shards(); ++i) {
    auto there = [this, &tables, shard = ShardId{i}]() -> Async<void> {
      for (DroppedTable& table : tables) {
        const std::vector<TabletId> ids = tablets_of(table.entry)[shard.value()];
        const auto figures = co_await part(shard).engine.figures(ids);
        for (const TabletFigures& of : figures) table.bytes += of.bytes;
      }
      co_return;
    };
    co_await mailbox(kHomeShard).call_on(ShardId{i}, std::move(there));
  }
  co_return tables;
}

// ---- the end

Async<Result<void>> NodeImpl::end_due_table() {
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  std::optional<Catalog::Drop> due = catalog_.plan_end(now_us() - options_.removal_margin_us);
  if (!due) co_return Result<void>{};
  log_info("node", "table={} name={} tablets={} can be restored no more, its files go",
           due->entry.schema.id, due->entry.schema.name, due->entry.tablets.size());
  co_return co_await end_table(*std::move(due), {}, {});
}

Async<Result<void>> NodeImpl::end_table(Catalog::Drop drop, std::vector<AuditEntry> entries,
                                        Author by) {
  const std::vector<std::vector<TabletId>> ids = tablets_of(drop.entry);
  // No flush or compaction edits the tablets between begin_drop and the edit that removes them.
  std::vector<std::vector<uint64_t>> versions(shards());
  auto begin = [this, &ids, &versions](ShardId shard) -> Async<Result<void>> {
    versions[shard.value()] = co_await part(shard).engine.begin_drop(ids[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(begin)));
  std::vector<VersionEdit> edits;
  edits.push_back(drop.table_edit);
  for (uint32_t shard = 0; shard < shards(); ++shard) {
    for (size_t i = 0; i < ids[shard].size(); ++i) {
      edits.push_back(remove_key(key_of(ids[shard][i]), versions[shard][i]));
    }
  }
  auto edited = co_await commit_change(std::move(edits), std::move(entries), std::move(by));
  if (!edited) {
    auto cancel = [this, &ids](ShardId shard) -> Async<Result<void>> {
      part(shard).engine.cancel_drop(ids[shard.value()]);
      co_return Result<void>{};
    };
    CO_TRY_VOID(co_await on_every_shard(std::move(cancel)));
    co_return std::unexpected(std::move(edited).error());
  }
  catalog_.ended(drop);
  CO_TRY_VOID(co_await publish());
  auto finish = [this, &ids](ShardId shard) -> Async<Result<void>> {
    co_await part(shard).engine.finish_drop(ids[shard.value()]);
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(finish));
}

}  // namespace cellar::engine
