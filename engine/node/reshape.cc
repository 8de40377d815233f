#include "engine/node/reshape.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "engine/store/blob/blob_files.h"
#include "io/base/check.h"
#include "io/base/log.h"
#include "io/loop/limited_work.h"

namespace cellar::engine {
namespace {

Result<void> check_row(const TabletDescriptor& tablet, Bytes row) {
  const bool inside = row > tablet.start && (tablet.end.empty() || row < tablet.end);
  if (inside) return {};
  return fail(Errc::out_of_range, "tablet {} holds rows '{}' to '{}' and cannot be cut at '{}'",
              tablet.id, escape_bytes(tablet.start), escape_bytes(tablet.end), escape_bytes(row));
}

// For calls that cannot fail: an error here would leave a tablet held for ever.
void must(const Result<void>& done) {
  CHECK(done, "a reshape stops halfway: {}", done.error().to_string());
}

Reshaping replacing(const Catalog::Place& place, size_t count, std::vector<KeyRange> ranges) {
  return {.entry = *place.entry,
          .first = place.index,
          .count = count,
          .ranges = std::move(ranges),
          .from = place.tablet().shard,
          .to = place.tablet().shard};
}

}  // namespace

template <class F>
auto Reshape::on(ShardId shard, F fn) {
  auto there = [this, shard, mine = std::move(fn)]() mutable { return mine(at(shard)); };
  return shards_.mailbox(kHomeShard).call_on(shard, std::move(there));
}

// ---- split

Async<Result<std::vector<TabletDescriptor>>> Reshape::split(TabletId id, std::string row) {
  if (row.size() > kMaxRowKeyBytes) {
    co_return fail(Errc::invalid_argument, "a row key has at most {} bytes, not {}",
                   kMaxRowKeyBytes, row.size());
  }
  const AsyncMutex::Lock turn = co_await turn_.lock();
  CO_TRY(const Catalog::Place found, catalog_.tables().place_of(id));
  const TabletDescriptor tablet = found.tablet();
  if (!row.empty()) CO_TRY_VOID(check_row(tablet, row));
  CO_TRY_VOID(co_await flush_ahead(tablet));
  if (row.empty()) {
    auto pick = [id](ShardReshape& shard) -> Async<Result<std::string>> {
      co_return shard.split_row(id);
    };
    CO_TRY(row, co_await on(tablet.shard, std::move(pick)));
  }
  const AsyncMutex::Lock catalog = co_await catalog_.lock();
  CO_TRY(const Catalog::Place place, catalog_.tables().place_of(id));
  CO_TRY_VOID(check_room_for_split(*place.entry));
  std::vector<KeyRange> ranges = {{tablet.start, row}, {row, tablet.end}};
  co_return co_await run(replacing(place, 1, std::move(ranges)));
}

// ---- move

Async<Result<TabletDescriptor>> Reshape::move(TabletId id, ShardId to) {
  if (to.value() >= shards_.count()) {
    co_return fail(Errc::invalid_argument, "the node has {} shards, there is no shard {}",
                   shards_.count(), to);
  }
  const AsyncMutex::Lock turn = co_await turn_.lock();
  co_return co_await move_flushed(id, to);
}

// REQUIRES: the reshape lock is held.
Async<Result<TabletDescriptor>> Reshape::move_flushed(TabletId id, ShardId to) {
  CO_TRY(const Catalog::Place found, catalog_.tables().place_of(id));
  const TabletDescriptor tablet = found.tablet();
  if (tablet.shard == to) co_return tablet;
  CO_TRY_VOID(co_await flush_ahead(tablet));
  auto list = [id](ShardReshape& shard) -> Async<Result<std::vector<TableItem>>> {
    co_return shard.tables_of(id);
  };
  CO_TRY(std::vector<TableItem> tables, co_await on(tablet.shard, std::move(list)));
  auto open = [&tables](ShardReshape& shard) { return shard.open_ahead(std::move(tables)); };
  co_await on(to, std::move(open));
  auto children = co_await move_opened(tablet, to);
  auto close = [](ShardReshape& shard) -> Async<Result<void>> {
    shard.unstage();
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on(to, std::move(close)));
  if (!children) co_return std::unexpected(std::move(children).error());
  co_return std::move(children->front());
}

Async<Result<Reshape::Children>> Reshape::move_opened(TabletDescriptor tablet, ShardId to) {
  const AsyncMutex::Lock catalog = co_await catalog_.lock();
  CO_TRY(const Catalog::Place place, catalog_.tables().place_of(tablet.id));
  std::vector<KeyRange> ranges = {{tablet.start, tablet.end}};
  Reshaping reshaping = replacing(place, 1, std::move(ranges));
  reshaping.to = to;
  reshaping.keeps_id = true;
  co_return co_await run(std::move(reshaping));
}

// ---- merge

Async<Result<TabletDescriptor>> Reshape::merge(TabletId left, TabletId right) {
  const AsyncMutex::Lock turn = co_await turn_.lock();
  CO_TRY(const Catalog::Place l, catalog_.tables().place_of(left));
  CO_TRY(const Catalog::Place r, catalog_.tables().place_of(right));
  if (l.entry != r.entry || l.index + 1 != r.index) {
    co_return fail(Errc::invalid_argument, "tablets {} and {} are no neighbours, in this order",
                   left, right);
  }
  const TabletDescriptor first = l.tablet();
  const std::string end = r.tablet().end;
  CO_TRY(const TabletDescriptor second, co_await move_flushed(right, first.shard));
  CO_TRY_VOID(co_await flush_ahead(first));
  CO_TRY_VOID(co_await flush_ahead(second));
  CO_TRY_VOID(co_await make_unitable(first, second));
  const AsyncMutex::Lock catalog = co_await catalog_.lock();
  CO_TRY(const Catalog::Place place, catalog_.tables().place_of(left));
  std::vector<KeyRange> ranges = {{first.start, end}};
  CO_TRY(Children children, co_await run(replacing(place, 2, std::move(ranges))));
  co_return std::move(children.front());
}

Async<Result<void>> Reshape::make_unitable(const TabletDescriptor& left,
                                           const TabletDescriptor& right) {
  auto fits = [&left, &right](ShardReshape& shard) -> Async<Result<void>> {
    CO_TRY(std::vector<TableItem> a, shard.tables_of(left.id));
    CO_TRY(std::vector<TableItem> b, shard.tables_of(right.id));
    auto united = unite(std::move(a), std::move(b));
    if (!united) co_return std::unexpected(std::move(united).error());
    co_return Result<void>{};
  };
  auto fit = co_await on(left.shard, std::move(fits));
  if (fit || fit.error().code != Errc::failed_precondition) co_return fit;
  auto there = [this, &right] { return shards_.engine(right.shard).compact(right.id); };
  co_return co_await shards_.mailbox(kHomeShard).call_on(right.shard, std::move(there));
}

// ---- shared by all operations

Async<Result<void>> Reshape::flush_ahead(const TabletDescriptor& tablet) {
  auto flush = [id = tablet.id](ShardReshape& shard) { return shard.flush_ahead(id); };
  co_return co_await on(tablet.shard, std::move(flush));
}

Async<Result<void>> Reshape::publish_and_fence(ShardId owner) {
  auto install = [this, owner](ShardId shard) -> Async<Result<void>> {
    shards_.part(shard).install(catalog_.map());
    auto arrive = []() -> Async<void> { co_return; };
    co_await shards_.mailbox(shard).call_on(owner, std::move(arrive));
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(install));
}

Async<Result<Reshape::Children>> Reshape::run(Reshaping reshaping) {
  if (read_only_) co_return std::unexpected(*read_only_);
  const Timers& timers = shards_.home().runtime.timers;
  const TableId table = reshaping.entry.schema.id;
  const int64_t began_us = timers.now_us();
  catalog_.tables().hold(table, reshaping.first, reshaping.count, true);
  Result<void> done = co_await publish_and_fence(reshaping.from);
  must(done);
  auto replaced = co_await replace(reshaping);
  if (!replaced) {
    done = co_await give_up(reshaping);
    must(done);
    log_warn("node", "table={} tablet={} reshape given up after {} us: {}", table,
             reshaping.entry.tablets[reshaping.first].id, timers.now_us() - began_us,
             replaced.error().to_string());
    co_return std::unexpected(std::move(replaced).error());
  }
  done = co_await remove_parents(reshaping);
  must(done);
  const TableEntry& now = *catalog_.map().find(table);
  const auto first = now.tablets.begin() + static_cast<ptrdiff_t>(reshaping.first);
  Children children(first, first + static_cast<ptrdiff_t>(reshaping.ranges.size()));
  log_info("node", "table={} tablets={} became={} first={} shard={} held_us={}", table,
           reshaping.count, children.size(), children.front().id, reshaping.to,
           timers.now_us() - began_us);
  co_return children;
}

// The parents serve these tables from memory; the children could not.
Async<std::unexpected<Error>> Reshape::keep_parents(const Reshaping& reshaping,
                                                    std::set<BlobId> lost) {
  const std::vector<TabletId> ids = reshaping.parents();
  auto note = [&ids, &lost](ShardReshape& shard) -> Async<void> {
    shard.note_damage(ids, lost);
    co_return;
  };
  co_await on(reshaping.from, std::move(note));
  co_return fail(Errc::data_loss,
                 "{} is served from memory and cannot be opened again: a compaction writes it anew",
                 blob_path(*lost.begin()));
}

// Steps 3 to 5, and the installation of the children.
Async<Result<ReshapePlan>> Reshape::replace(const Reshaping& reshaping) {
  CO_TRY(const std::vector<QuiescedTablet> parents, co_await quiesce_in_time(reshaping));
  auto end = [](ShardReshape& shard) -> Async<LogPosition> { co_return shard.log_end(); };
  LogSpan span{.log = shards_.logs()[reshaping.to.value()]};
  span.from = co_await on(reshaping.to, std::move(end));
  CO_TRY(ReshapePlan plan, plan_edit(catalog_.tables(), reshaping, parents, span));
  auto stage = [&plan](ShardReshape& shard) { return shard.stage(plan.children); };
  CO_TRY(std::set<BlobId> lost, co_await on(reshaping.to, std::move(stage)));
  for (const QuiescedTablet& parent : parents) {
    for (const BlobId blob : parent.lost) lost.erase(blob);  // it was lost before
  }
  if (!lost.empty()) co_return co_await keep_parents(reshaping, std::move(lost));
  CO_TRY(const std::vector<uint64_t> versions, co_await catalog_.commit(std::move(plan.edit)));
  const size_t children = plan.children.size();
  catalog_.tables().reshaped(reshaping.entry.schema.id, reshaping.first, reshaping.count,
                             plan.children, plan.node,
                             reshaping.keeps_id ? kAbsent : versions.front());
  count_blobs(parents, plan);
  Result<void> done = co_await hand_time_over(reshaping);
  must(done);
  auto install = [&versions, children](ShardReshape& shard) -> Async<Result<void>> {
    shard.install({versions.end() - static_cast<ptrdiff_t>(children), versions.end()});
    co_return Result<void>{};
  };
  done = co_await on(reshaping.to, std::move(install));
  must(done);
  co_return plan;
}

Async<Result<std::vector<QuiescedTablet>>> Reshape::quiesce_in_time(const Reshaping& reshaping) {
  auto quiesce = [&reshaping](ShardReshape& shard) {
    return shard.quiesce(reshaping.parents(), reshaping.ranges);
  };
  LimitedWork<Result<std::vector<QuiescedTablet>>> quiesced(shards_.home().runtime, kHoldUs,
                                                            on(reshaping.from, std::move(quiesce)));
  const bool in_time = co_await quiesced.in_time();
  if (in_time) co_return co_await quiesced.result();
  // Writes are accepted again at once; the quiescing may take longer to end.
  const Result<void> given_up = co_await give_up(reshaping);
  must(given_up);
  (void)co_await quiesced.result();
  co_return fail(Errc::deadline_exceeded, "tablet {} did not come to rest within {} ms",
                 reshaping.entry.tablets[reshaping.first].id, kHoldUs / 1000);
}

// Reads of a child are never judged at an earlier time than reads of its parent.
Async<Result<void>> Reshape::hand_time_over(const Reshaping& reshaping) {
  if (reshaping.from == reshaping.to) co_return Result<void>{};
  auto read = [](ShardReshape& shard) -> Async<int64_t> { co_return shard.now_us(); };
  const int64_t reading_us = co_await on(reshaping.from, std::move(read));
  auto raise = [reading_us](ShardReshape& shard) -> Async<Result<void>> {
    shard.raise_clock(reading_us);
    co_return Result<void>{};
  };
  co_return co_await on(reshaping.to, std::move(raise));
}

void Reshape::count_blobs(const std::vector<QuiescedTablet>& parents, const ReshapePlan& plan) {
  struct Names {
    uint64_t children = 0;
    bool shared = false;
  };
  absl::flat_hash_map<BlobId, Names> names;
  for (const QuiescedTablet& parent : parents) {
    for (BlobId blob : parent.blobs) names.try_emplace(blob);
  }
  for (const TabletSeed& child : plan.children) {
    for (const TableItem& table : child.tables) {
      Names& of_blob = names[table.meta.blob];
      ++of_blob.children;
      of_blob.shared |= table.shared;
    }
  }
  for (const auto& [blob, of_blob] : names) {
    shared_blobs_.add(blob, of_blob.children, of_blob.shared);
  }
}

// Steps 6 and 7, once the children are installed.
Async<Result<void>> Reshape::remove_parents(const Reshaping& reshaping) {
  CO_TRY_VOID(co_await publish_and_fence(reshaping.from));
  std::vector<std::unique_ptr<Tablet>> gone;
  auto take = [&gone, ids = reshaping.parents()](ShardReshape& shard) -> Async<Result<void>> {
    shard.count_references(ids);
    gone = shard.take_out(ids);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on(reshaping.from, std::move(take)));
  // The parents have answered reads until here.
  CO_TRY_VOID(co_await hand_time_over(reshaping));
  catalog_.tables().hold(reshaping.entry.schema.id, reshaping.first, reshaping.ranges.size(),
                         false);
  CO_TRY_VOID(co_await catalog_.publish());
  auto finish = [this, &gone, from = reshaping.from](ShardReshape& shard) {
    return shard.finish(std::move(gone), shards_.logs()[from.value()]);
  };
  co_await on(reshaping.from, std::move(finish));
  co_return Result<void>{};
}

// Makes the parents serve as before; no effect if they do.
Async<Result<void>> Reshape::give_up(const Reshaping& reshaping) {
  auto resume = [ids = reshaping.parents()](ShardReshape& shard) -> Async<Result<void>> {
    shard.resume(ids);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on(reshaping.from, std::move(resume)));
  auto unstage = [](ShardReshape& shard) -> Async<Result<void>> {
    shard.unstage();
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on(reshaping.to, std::move(unstage)));
  catalog_.tables().hold(reshaping.entry.schema.id, reshaping.first, reshaping.count, false);
  co_return co_await catalog_.publish();
}

}  // namespace cellar::engine
