#include "net/http/index_browser.h"

#include <deque>
#include <utility>

#include "net/server/shard/clock_gate.h"
#include "net/server/shard/index_merge.h"

namespace cellar::http {

using engine::IndexHit;
using server::IndexMerge;
using server::IndexSource;
using server::ShardServer;

namespace {

constexpr int64_t kLookAtTableUs = 20'000;  // at a table that has changed, or whose rules change
constexpr size_t kLeastBatchBytes = 4 * 1024;

struct Source final : IndexSource {
  TabletId tablet;
  Epoch epoch;
  ShardId shard;
};

// A page in progress, on the requesting shard, which waits while a tablet's shard uses it.
struct IndexWalk {
  IndexWalk(const BrowseIndexRequest& of, int64_t until)
      : request(of), until_us(until), last_us(until + kMaxBrowseUs) {}

  const BrowseIndexRequest& request;
  const int64_t until_us;  // ends the page
  const int64_t last_us;   // for a page that has not moved
  engine::IndexBatchLimits limits;
  BrowsedHits found;
  size_t bytes = 0;  // of found.hits

  bool is_full() const { return found.hits.size() >= request.hits || bytes >= kMaxBrowsedBytes; }
};

size_t batch_bytes(const engine::IndexBatch& batch) {
  size_t bytes = 0;
  for (const IndexHit& hit : batch.hits) bytes += hit.bytes();
  return bytes;
}

// Runs on the tablet's shard. A cursor for each batch: no page holds one while it reads elsewhere.
Async<Result<void>> fill(ShardServer& owner, Source& source, const IndexWalk& walk) {
  source.begin_batch();
  IndexReadSpec spec = walk.request.spec;
  spec.rows = source.rows;
  spec.after = source.after;
  CO_TRY(const auto scan, owner.engine().open_index(source.tablet, source.epoch, spec));
  const auto goes_on = [&] {
    return !source.batch.done && source.batch.hits.size() < walk.limits.hits &&
           batch_bytes(source.batch) < walk.limits.bytes &&
           owner.timers().now_us() <= walk.until_us;
  };
  do {
    CO_TRY_VOID(co_await scan->next(source.batch, walk.limits));
  } while (goes_on());
  co_return Result<void>();
}

BrowsedCell cell_of(const std::string& row, const engine::HitCell& from) {
  BrowsedCell cell;
  cell.row = row;
  cell.family = from.family;
  cell.qualifier = from.qualifier;
  cell.value = from.value.substr(0, kShownValueBytes);
  cell.value_bytes = from.value.size();
  cell.timestamp_us = from.timestamp_us;
  cell.note = from.note;
  return cell;
}

// The indexed cell is the first one of a hit.
void take(const IndexHit& from, IndexWalk& walk) {
  BrowsedHit hit;
  hit.cell = cell_of(from.row, from.cells.front());
  hit.found = !hit.cell.note.dead;
  for (size_t i = 1; i < from.cells.size(); ++i) {
    hit.covered.push_back(cell_of(from.row, from.cells[i]));
  }
  for (const engine::HitCell& cell : from.cells) {
    walk.bytes += cell.qualifier.size() + std::min(cell.value.size(), kShownValueBytes);
  }
  walk.bytes += from.row.size() + from.position.size();
  walk.found.next = from.position;
  walk.found.hits.push_back(std::move(hit));
}

// One batch of each tablet without which the next hit is not known.
Async<Result<void>> read_on(ShardServer& shard, IndexMerge& merge, IndexWalk& walk) {
  for (IndexSource* wanted : merge.wanted()) {
    if (shard.timers().now_us() > walk.last_us) {
      co_return fail(Errc::deadline_exceeded,
                     "index '{}' of table '{}' could not be read further within {} s",
                     escape_bytes(walk.request.spec.index), escape_bytes(walk.request.table),
                     2 * kMaxBrowseUs / 1'000'000);
    }
    auto& source = static_cast<Source&>(*wanted);
    ShardServer& owner = shard.peer(source.shard);
    auto there = [&owner, &source, &walk] { return fill(owner, source, walk); };
    CO_TRY_VOID(co_await shard.mailbox().call_on(source.shard, std::move(there)));
    merge.filled(source);
  }
  co_return Result<void>();
}

// The position that every tablet has passed: one that still holds up the merge is before the hits
// of all others.
void stop_short(const IndexMerge& merge, IndexWalk& walk) {
  const std::vector<IndexSource*> dry = merge.wanted();
  if (dry.empty()) return;
  const IndexSource* first = dry.front();
  for (const IndexSource* source : dry) {
    if (merge.precedes(source->after, first->after)) first = source;
  }
  walk.found.next = first->after;
}

Async<Result<void>> read_page(ShardServer& shard, const engine::TableEntry& table,
                              IndexWalk& walk) {
  const BrowseIndexRequest& request = walk.request;
  IndexMerge merge(request.spec.reversed);
  std::deque<Source> sources;
  for (server::IndexPart& part : server::parts_of(table, request.spec.rows)) {
    Source& source = sources.emplace_back();
    source.rows = std::move(part.rows);
    source.after = request.spec.after;
    source.tablet = part.tablet->id;
    source.epoch = part.tablet->epoch;
    source.shard = part.tablet->shard;
    merge.add(source);
  }
  walk.limits.hits = request.hits;
  walk.limits.bytes =
      std::max(kMaxBrowsedBytes / std::max<size_t>(sources.size(), 1), kLeastBatchBytes);
  while (!merge.done() && !walk.is_full()) {
    if (merge.next() != nullptr) {
      take(merge.take(), walk);
      continue;
    }
    CO_TRY_VOID(co_await read_on(shard, merge, walk));
    if (merge.next() != nullptr || merge.done() || shard.timers().now_us() <= walk.until_us)
      continue;
    stop_short(merge, walk);
    break;
  }
  walk.found.more = !merge.done();
  co_return Result<void>();
}

// A tablet tells how much of it is entered; this, how much of the table.
Async<Error> not_ready(ShardServer& shard, const BrowseIndexRequest& request, Error why) {
  const auto all = co_await shard.node().index_states(shard.id(), request.table);
  if (!all) co_return why;
  for (size_t i = 0; i < all->indexes.size() && i < all->states.size(); ++i) {
    if (all->indexes[i].name != request.spec.index || all->states[i].ready) continue;
    why.message = fmt::format("index '{}' of table '{}' is not ready: {} % of the table is entered",
                              escape_bytes(request.spec.index), escape_bytes(request.table),
                              std::min(static_cast<int>(all->states[i].share_done() * 100), 99));
  }
  co_return why;
}

// Against the table as it is now; ABORTED: it has changed meanwhile.
Async<Result<BrowsedHits>> browse_once(ShardServer& shard, const BrowseIndexRequest& request,
                                       int64_t until_us) {
  const engine::TableMap map = shard.tables();
  const engine::TableEntry* table = map.find(request.table);
  if (table == nullptr) {
    co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(request.table));
  }
  const IndexSchema* index = table->schema.find_index(request.spec.index);
  if (index == nullptr) {
    co_return fail(Errc::not_found, "table '{}' has no index '{}'", escape_bytes(request.table),
                   escape_bytes(request.spec.index));
  }
  CO_TRY_VOID(validate_index_read(request.spec, *index, table->schema.granularity));
  IndexWalk walk(request, until_us);
  walk.found.now_us = shard.clock().now_us();
  walk.found.next = request.spec.after;
  Result<void> read = co_await read_page(shard, *table, walk);
  if (read) co_return std::move(walk.found);
  Error why = std::move(read).error();
  if (why.code == Errc::failed_precondition) {
    why = co_await not_ready(shard, request, std::move(why));
  }
  co_return std::unexpected(std::move(why));
}

}  // namespace

Async<Result<BrowsedHits>> browse_index(ShardServer& shard, BrowseIndexRequest request) {
  CO_TRY_VOID(co_await server::admit_by_time(shard));
  CO_TRY_VOID(shard.admission().begin_scan());
  const int64_t until_us = shard.timers().now_us() + kMaxBrowseUs;
  Result<BrowsedHits> page = co_await browse_once(shard, request, until_us);
  while (!page && page.error().code == Errc::aborted && shard.timers().now_us() <= until_us) {
    co_await sleep_us(shard.timers(), kLookAtTableUs);
    page = co_await browse_once(shard, request, until_us);
  }
  shard.admission().end_scan();
  co_return page;
}

}  // namespace cellar::http
