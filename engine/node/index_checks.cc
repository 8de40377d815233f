#include "engine/node/index_checks.h"

#include <utility>

#include "engine/lookup/index_check_step.h"

namespace cellar::engine {
namespace {

constexpr int64_t kCheckMapLookUs = 1000;
constexpr int64_t kMaxCheckMapWaitUs = 30'000'000;

Result<TableEntry> find(const TableMap& map, const std::string& table, const std::string& index) {
  const TableEntry* entry = map.find(Bytes(table));
  if (entry == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(table));
  }
  if (entry->schema.find_index(index) == nullptr) {
    return fail(Errc::not_found, "table '{}' has no index '{}'", table, escape_bytes(index));
  }
  return *entry;
}

}  // namespace

// A tablet that is gone in the middle is compared again from its first row, by the next map.
Async<Result<IndexCheckReport>> IndexChecks::run(ShardId from, std::string table, std::string index,
                                                 IndexCheckListener& listener) {
  IndexCheckReport report;
  std::string row;
  int64_t waited_us = 0;
  while (true) {
    CO_TRY(const TableEntry entry, find(shards_.part(from).tables, table, index));
    const uint64_t map_version = shards_.part(from).tables.version;
    const TabletDescriptor tablet = entry.locate(row);
    IndexCheckPlace place{.index = index, .row = row, .backwards = false, .position = {}};
    IndexCheckReport now = report;
    const Result<void> checked = co_await check_tablet(from, tablet, place, listener, now);
    if (!checked) {
      if (checked.error().code != Errc::aborted || waited_us >= kMaxCheckMapWaitUs)
        co_return std::unexpected(checked.error());
      for (; shards_.part(from).tables.version == map_version && waited_us < kMaxCheckMapWaitUs;
           waited_us += kCheckMapLookUs) {
        CO_TRY_VOID(listener.go_on(report));
        co_await sleep_us(shards_.env(from).runtime.timers, kCheckMapLookUs);
      }
      continue;
    }
    waited_us = 0;
    report = std::move(now);
    row = tablet.end;
    if (row.empty()) co_return report;
  }
}

Async<Result<void>> IndexChecks::check_tablet(ShardId from, const TabletDescriptor& tablet,
                                              IndexCheckPlace& place, IndexCheckListener& listener,
                                              IndexCheckReport& report) {
  while (!place.done) {
    auto there = [this, &tablet, &place, &report]() -> Async<Result<void>> {
      return shards_.engine(tablet.shard).check_index(tablet.id, tablet.epoch, place, report);
    };
    CO_TRY_VOID(co_await shards_.mailbox(from).call_on(tablet.shard, std::move(there)));
    CO_TRY_VOID(listener.go_on(report));
  }
  co_return Result<void>{};
}

}  // namespace cellar::engine
