#include "engine/node/tablet_calls.h"

#include <utility>

namespace cellar::engine {

// Attempts of a call that finds a tablet split, merged or moved; each uses the current map.
constexpr int kMapAttempts = 8;

Async<Result<void>> TabletCalls::each_tablet(ShardId from, std::string name, Work work) {
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = shards_.part(from).tables.find(Bytes(name));
    if (entry == nullptr) {
      co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
    }
    const std::vector<TabletDescriptor> tablets = entry->tablets;  // the map may change meanwhile
    done = {};
    for (const TabletDescriptor& tablet : tablets) {
      auto there = [this, &work, shard = tablet.shard, id = tablet.id] {
        return work(shards_.engine(shard), id);
      };
      done = co_await shards_.mailbox(from).call_on(tablet.shard, std::move(there));
      if (!done) break;
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  co_return done;
}

Async<Result<void>> TabletCalls::flush(ShardId from, std::string name) {
  Work work = [](ShardEngine& engine, TabletId id) { return engine.flush(id); };
  co_return co_await each_tablet(from, std::move(name), std::move(work));
}

Async<Result<void>> TabletCalls::compact(ShardId from, std::string name) {
  Work work = [](ShardEngine& engine, TabletId id) { return engine.compact(id); };
  co_return co_await each_tablet(from, std::move(name), std::move(work));
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

}  // namespace cellar::engine
