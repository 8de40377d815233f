#include "engine/reshape/shard_reshape.h"

#include <utility>

#include "engine/jobs/flush.h"
#include "engine/reshape/split_point.h"
#include "engine/tablet/open_tablet.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

KeyRange range_of(const Tablet& tablet) { return {tablet.state().start, tablet.state().end}; }

// The tables of the tablet that overlap `range`, each restricted to it.
std::vector<TableItem> part_of(const Tablet& tablet, const KeyRange& range) {
  std::vector<TableItem> part;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      TableItem item = table->item();
      item.rows = intersect(item.rows, intersect(range_of(tablet), range));
      if (item.rows.empty()) continue;
      if (table->hides_range_deletes() || !TableSlice(table->slice().table(), item.rows).empty()) {
        part.push_back(std::move(item));
      }
    }
  }
  return part;
}

QuiescedTablet describe(const Tablet& tablet, const std::vector<KeyRange>& ranges) {
  QuiescedTablet quiesced;
  quiesced.id = tablet.id();
  quiesced.state = tablet.state();
  quiesced.version = tablet.manifest_version();
  quiesced.last_stamp = tablet.last_stamp();
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      quiesced.blobs.push_back(table->blob());
      if (table->slice().table().is_lost()) quiesced.lost.insert(table->blob());
    }
  }
  for (const KeyRange& range : ranges) quiesced.parts.push_back(part_of(tablet, range));
  return quiesced;
}

}  // namespace

Result<Tablet*> ShardReshape::find(TabletId id) const {
  const auto it = tablets_.find(id);
  if (it != tablets_.end()) return it->second.get();
  return fail(Errc::aborted, "tablet {} is not on shard {}", id, shard_.shard);
}

// ---- parents

Async<Result<void>> ShardReshape::flush_ahead(TabletId id) {
  CO_TRY(Tablet * tablet, find(id));
  CO_TRY(const Gate::Pass pass, tablet->gate().enter());
  for (int i = 0; i < kSettleFlushes; ++i) {
    CO_TRY_VOID(co_await flush_tablet(*tablet));
    if (tablet->memtables().bytes() < kSettledBytes) break;
  }
  co_return Result<void>{};
}

Result<std::string> ShardReshape::split_row(TabletId id) const {
  TRY(const Tablet* tablet, find(id));
  return pick_split_row(*tablet);
}

Result<std::vector<TableItem>> ShardReshape::tables_of(TabletId id) const {
  TRY(const Tablet* tablet, find(id));
  return part_of(*tablet, range_of(*tablet));
}

Async<Result<std::vector<QuiescedTablet>>> ShardReshape::quiesce(std::vector<TabletId> ids,
                                                                 std::vector<KeyRange> ranges) {
  for (TabletId id : ids) {
    Result<void> quiesced;
    auto tablet = find(id);
    if (tablet) {
      quiesced = co_await quiesce_tablet(**tablet);
    } else {
      quiesced = std::unexpected(std::move(tablet).error());
    }
    if (quiesced) continue;
    resume(ids);
    co_return std::unexpected(std::move(quiesced).error());
  }
  std::vector<QuiescedTablet> quiesced;
  for (TabletId id : ids) quiesced.push_back(describe(*tablets_.at(id), ranges));
  co_return quiesced;
}

void ShardReshape::resume(const std::vector<TabletId>& ids) {
  for (TabletId id : ids) {
    if (const auto it = tablets_.find(id); it != tablets_.end()) resume_tablet(*it->second);
  }
}

void ShardReshape::note_damage(const std::vector<TabletId>& ids, const std::set<BlobId>& blobs) {
  for (const TabletId id : ids) {
    for (const TabletRun& run : tablets_.at(id)->version().runs) {
      for (const Ref<TabletTable>& table : run.tables) {
        if (blobs.contains(table->blob())) table->slice().table().note_tail_damage();
      }
    }
  }
}

void ShardReshape::count_references(const std::vector<TabletId>& ids) {
  for (TabletId id : ids) tablets_.at(id)->count_references();
}

std::vector<std::unique_ptr<Tablet>> ShardReshape::take_out(const std::vector<TabletId>& ids) {
  std::vector<std::unique_ptr<Tablet>> gone;
  for (TabletId id : ids) {
    const auto it = tablets_.find(id);
    gone.push_back(std::move(it->second));
    tablets_.erase(it);
    gone.back()->mark_obsolete();
    shard_.merge_slot.cancel(*gone.back());
  }
  return gone;
}

Async<void> ShardReshape::finish(std::vector<std::unique_ptr<Tablet>> gone, LogId open_log) {
  for (const auto& tablet : gone) {
    co_await tablet->gate().close();
    co_await tablet->turns_drained();
    co_await tablet->commits().drained();
    shard_.watcher->logs_released(old_logs_of(tablet->state(), open_log));
  }
}

// ---- children

Async<void> ShardReshape::open_ahead(std::vector<TableItem> tables) {
  for (TableItem& item : tables) {
    auto table = co_await open_table(shard_.files, std::move(item));
    // The table may have been merged away; stage() opens what is needed again.
    if (table) ahead_.push_back(std::move(*table));
  }
}

Async<Result<std::set<BlobId>>> ShardReshape::stage(std::vector<TabletSeed> seeds) {
  if (shard_.wal.is_stopped()) co_return std::unexpected(shard_.wal.refusal());
  std::set<BlobId> lost;
  for (TabletSeed& seed : seeds) {
    CO_TRY(std::unique_ptr<Tablet> tablet, co_await open_tablet(shard_, std::move(seed)));
    tablet->count_tables(false);
    for (const TabletRun& run : tablet->version().runs) {
      for (const Ref<TabletTable>& table : run.tables) {
        if (table->slice().table().is_lost()) lost.insert(table->blob());
      }
    }
    staged_.push_back(std::move(tablet));
  }
  co_return lost;
}

void ShardReshape::unstage() {
  staged_.clear();
  ahead_.clear();
}

void ShardReshape::install(const std::vector<uint64_t>& versions) {
  CHECK(versions.size() == staged_.size(), "{} versions for {} tablets", versions.size(),
        staged_.size());
  for (size_t i = 0; i < staged_.size(); ++i) {
    Tablet& tablet = *staged_[i];
    tablet.installed(versions[i]);
    tablet.count_tables(true);
    const bool added = tablets_.emplace(tablet.id(), std::move(staged_[i])).second;
    CHECK(added, "tablet {} is on shard {} already", tablet.id(), shard_.shard);
    shard_.watcher->runs_changed(tablet);
  }
  unstage();
}

namespace {

Async<Result<void>> come_to_rest(Tablet& tablet) {
  CO_TRY(const Gate::Pass pass, tablet.gate().enter());
  tablet.access().quiescing = true;
  co_await tablet.writes_drained();
  if (!tablet.access().quiescing) co_return fail(Errc::aborted, "the reshape was called off");
  tablet.access().refuses_writes = true;
  co_await tablet.commits().drained();
  CO_TRY_VOID(co_await flush_tablet(tablet));
  co_await tablet.begin_drop();
  if (!tablet.access().quiescing || tablet.obsolete() || tablet.memtables().has_unflushed()) {
    co_return fail(Errc::aborted, "the reshape of tablet {} was called off", tablet.id());
  }
  co_return Result<void>{};
}

}  // namespace

Async<Result<void>> quiesce_tablet(Tablet& tablet) {
  auto quiesced = co_await come_to_rest(tablet);
  if (!quiesced) resume_tablet(tablet);
  co_return quiesced;
}

void resume_tablet(Tablet& tablet) {
  tablet.access().quiescing = false;
  tablet.access().refuses_writes = false;
  tablet.cancel_drop();
}

}  // namespace cellar::engine
