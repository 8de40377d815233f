#include "engine/node/tablet_calls.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "engine/gc/shard_reclaim.h"
#include "engine/tablet_figures.h"

namespace cellar::engine {

// Attempts of a call that finds a tablet split, merged or moved; each uses the current map.
constexpr int kMapAttempts = 8;

Async<Result<void>> TabletCalls::each_shard(ShardId from, std::string name, Work work) {
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = shards_.part(from).tables.find(Bytes(name));
    if (entry == nullptr) {
      co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
    }
    const TabletsByShard tablets = shards_.tablets_of(*entry);  // the map may change meanwhile
    done = {};
    for (uint32_t i = 0; i < shards_.count(); ++i) {
      if (tablets[i].empty()) continue;
      auto there = [this, &work, shard = ShardId{i}, ids = tablets[i]]() mutable {
        return work(shards_.engine(shard), std::move(ids));
      };
      done = co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there));
      if (!done) break;
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  co_return done;
}

Async<Result<void>> TabletCalls::flush(ShardId from, std::string name) {
  Work work = [](ShardEngine& engine, std::vector<TabletId> ids) {
    return engine.flush_each(std::move(ids));
  };
  co_return co_await each_shard(from, std::move(name), std::move(work));
}

Async<Result<void>> TabletCalls::compact(ShardId from, std::string name) {
  Work work = [](ShardEngine& engine, std::vector<TabletId> ids) -> Async<Result<void>> {
    for (const TabletId id : ids) CO_TRY_VOID(co_await engine.compact(id));
    co_return Result<void>{};
  };
  co_return co_await each_shard(from, std::move(name), std::move(work));
}

Async<Result<std::vector<TabletSize>>> TabletCalls::sizes(ShardId from, TableId table) {
  std::vector<TabletSize> sizes;
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = shards_.part(from).tables.find(table);
    if (entry == nullptr) co_return fail(Errc::not_found, "table {} does not exist", table);
    const std::vector<TabletDescriptor> tablets = entry->tablets;  // the map may change meanwhile
    sizes.assign(tablets.size(), TabletSize{});
    for (uint32_t i = 0; i < shards_.count(); ++i) {
      auto there = [this, &tablets, &sizes, shard = ShardId{i}]() -> Async<Result<void>> {
        for (size_t t = 0; t < tablets.size(); ++t) {
          if (tablets[t].shard != shard) continue;
          sizes[t].end = tablets[t].end;
          CO_TRY(sizes[t].bytes, shards_.engine(shard).tablet_bytes(tablets[t].id));
        }
        co_return Result<void>{};
      };
      done = co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there));
      if (!done) break;
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  if (!done) co_return std::unexpected(std::move(done).error());
  co_return sizes;
}

Async<Result<IndexStates>> TabletCalls::index_states(ShardId from, std::string table) {
  IndexStates states;
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = shards_.part(from).tables.find(Bytes(table));
    if (entry == nullptr) {
      co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(table));
    }
    const TabletsByShard tablets = shards_.tablets_of(*entry);  // the map may change meanwhile
    states = {.indexes = entry->schema.indexes, .states = {}};
    for (const IndexSchema& index : states.indexes) states.states.push_back({.id = index.id});
    done = {};
    for (uint32_t i = 0; i < shards_.count() && done; ++i) {
      if (tablets[i].empty() || states.indexes.empty()) continue;
      auto there = [this, shard = ShardId{i}, ids = tablets[i], indexes = states.indexes] {
        return shards_.engine(shard).index_states(ids, indexes);
      };
      auto some = co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there));
      if (!some) done = std::unexpected(std::move(some).error());
      for (size_t s = 0; some && s < some->size(); ++s) states.states[s].add((*some)[s]);
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  if (!done) co_return std::unexpected(std::move(done).error());
  co_return states;
}

Async<std::vector<EngineStats>> TabletCalls::stats(ShardId from) {
  std::vector<EngineStats> all;
  for (uint32_t i = 0; i < shards_.count(); ++i) {
    auto there = [this, i]() -> Async<EngineStats> {
      co_return shards_.engine(ShardId{i}).stats();
    };
    all.push_back(co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there)));
  }
  co_return all;
}

namespace {

// Adds pinned bytes to the tablet that had the file, or to the first of its table.
void add_pinned(const std::vector<PinnedFile>& files, const TableMap& map, int64_t margin_us,
                std::vector<TabletFigures>& all) {
  if (files.empty()) return;
  absl::flat_hash_map<TabletId, TabletFigures*> by_id;
  absl::flat_hash_map<TableId, TabletFigures*> first;
  for (TabletFigures& one : all) {
    by_id[one.tablet.id] = &one;
    first.try_emplace(one.tablet.table, &one);
  }
  for (const PinnedFile& file : files) {
    const TableEntry* table = map.find(file.blob.table);
    const auto there = first.find(file.blob.table);
    if (there == first.end() || table == nullptr) continue;
    const auto own = by_id.find(file.blob.tablet);
    ReclaimFigures& holder = own != by_id.end() ? *own->second : *there->second;
    holder.pinned_bytes += file.blob.bytes;
    holder.file_due_us =
        std::min(holder.file_due_us,
                 due_us(file.blob.since_us, table->schema.options.reclaim_within_us, margin_us));
  }
}

}  // namespace

Async<Result<std::vector<TabletFigures>>> TabletCalls::figures(ShardId from, TableId table) {
  const TableMap map = shards_.part(from).tables;  // a copy: the map may change meanwhile
  if (table != TableId{} && map.find(table) == nullptr) {
    co_return fail(Errc::not_found, "table {} does not exist", table);
  }
  TabletsByShard ids(shards_.count());
  absl::flat_hash_map<TabletId, const TabletDescriptor*> wanted;
  for (const auto& [name, entry] : map.tables()) {
    if (table != TableId{} && entry->schema.id != table) continue;
    for (const TabletDescriptor& tablet : entry->tablets) {
      ids[tablet.shard.value()].push_back(tablet.id);
      wanted[tablet.id] = &tablet;
    }
  }
  std::vector<TabletFigures> all;
  std::vector<PinnedFile> pinned;
  for (uint32_t i = 0; i < shards_.count(); ++i) {
    using Figures = std::pair<std::vector<TabletFigures>, std::vector<PinnedFile>>;
    auto there = [this, &ids, shard = ShardId{i}]() -> Async<Figures> {
      std::vector<PinnedFile> files;
      add_read_files(shards_.engine(shard).context(), files);
      add_kept_files(shards_.engine(shard).deleter(), files);
      if (shard == kHomeShard) add_kept_files(home_deleter_, files);
      auto figures = co_await shards_.engine(shard).figures(ids[shard.value()]);
      co_return Figures{std::move(figures), std::move(files)};
    };
    auto [some, files] = co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there));
    pinned.insert(pinned.end(), files.begin(), files.end());
    for (TabletFigures& figures : some) {
      figures.tablet = *wanted.at(figures.tablet.id);
      all.push_back(std::move(figures));
    }
  }
  add_pinned(pinned, map, margin_us_, all);
  std::sort(all.begin(), all.end(), [](const TabletFigures& a, const TabletFigures& b) {
    return std::tie(a.tablet.table, a.tablet.start) < std::tie(b.tablet.table, b.tablet.start);
  });
  co_return all;
}

}  // namespace cellar::engine
