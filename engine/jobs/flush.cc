#include "engine/jobs/flush.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/jobs/install.h"
#include "engine/jobs/plan_merge.h"
#include "engine/tablet/open_tablet.h"
#include "io/loop/event.h"

namespace cellar::engine {
namespace {

MergePlan plan_flush(Tablet& tablet, const Memtable& memtable) {
  const Version& version = tablet.version();
  const auto is_it = [&memtable](const auto& other) { return &other->entries == &memtable; };
  const auto place = std::find_if(version.memtables.begin(), version.memtables.end(), is_it);
  MergePlan plan =
      plan_merge(tablet, version, static_cast<size_t>(place - version.memtables.begin()), 1);
  plan.inputs.push_back(std::make_unique<Memtable::Iterator>(memtable.tree()));
  plan.range_deletes = memtable.range_deletes();
  plan.run = tablet.state().next_run;
  plan.io_class = IoClass::flush;
  plan.background = &tablet.shard().background;
  plan.kind = BackgroundKind::flush;
  return plan;
}

// All unflushed commits of the tablet are in the open log, after the memtable.
TabletState state_after(Tablet& tablet, const TabletMemtable& memtable) {
  TabletState state = tablet.state();
  state.last_flushed = memtable.entries.max_stamp();
  state.range_tokens =
      tablet.range_tokens().up_to(state.last_flushed, tablet.shard().runtime.clock.now_us());
  state.spans = {{.log = state.spans.back().log, .from = memtable.log_end}};
  return state;
}

Async<Result<void>> flush_oldest(Tablet& tablet, Ref<TabletMemtable> memtable) {
  CO_TRY_VOID(co_await tablet.commits().visible(memtable->entries.max_stamp()));
  co_await tablet.rule_hold().rules_known();
  ShardContext& shard = tablet.shard();
  MergePlan plan = plan_flush(tablet, memtable->entries);
  const MergeFacts facts = plan.facts;
  MergeJob job(shard.files.blobs, shard.files.ids, std::move(plan));
  const int64_t began_us = shard.runtime.timers.now_us();
  CO_TRY(std::vector<TableMeta> outputs, co_await job.run());
  shard.counters.flushed_bytes += job.stats().bytes_out;
  CO_TRY(Installation installation, co_await Installation::begin(tablet, std::move(outputs)));
  if (is_outdated(facts, tablet)) co_return Result<void>{};  // still frozen: flush it again
  TabletState state = state_after(tablet, *memtable);
  ++state.next_run;
  CO_TRY(const uint64_t version, co_await installation.commit(state, {}));
  const std::vector<LogId> released = old_logs_of(tablet.state(), state.spans.back().log);
  tablet.flushed(memtable, installation.tables(), std::move(state), version);
  ++shard.counters.flushes;
  shard.flow.flushed(memtable->entries.content_bytes(), shard.runtime.timers.now_us() - began_us);
  shard.watcher->logs_released(released);
  shard.watcher->runs_changed(tablet);
  co_return Result<void>{};
}

// Shared by the lanes of one flush_in_lanes().
struct FlushLanes {
  std::function<Async<Result<void>>(size_t)> one;
  size_t count = 0;
  size_t next = 0;
  Result<void> outcome;
  size_t running = 0;
  Event ended;
};

Async<void> flush_lane(FlushLanes& lanes) {
  while (lanes.next < lanes.count) {
    auto flushed = co_await lanes.one(lanes.next++);
    if (!flushed && lanes.outcome) lanes.outcome = std::move(flushed);
  }
  if (--lanes.running == 0) lanes.ended.set();
}

}  // namespace

Async<Result<void>> flush_in_lanes(ShardExecutor executor, size_t count,
                                   std::function<Async<Result<void>>(size_t)> one) {
  if (count == 0) co_return Result<void>{};
  FlushLanes lanes{.one = std::move(one),
                   .count = count,
                   .outcome = {},
                   .running = std::min(count, kFlushLanes),
                   .ended = {}};
  for (size_t left = lanes.running; left > 0; --left) spawn(executor, flush_lane(lanes));
  co_await lanes.ended.wait();
  co_return lanes.outcome;
}

Async<Result<void>> flush_tablet(Tablet& tablet) {
  if (!tablet.shard().wal.log) co_return std::unexpected(tablet.shard().wal.refusal());
  AsyncMutex::Lock lock = co_await tablet.flush_lock().lock();
  tablet.memtables().freeze();
  // Memtables frozen meanwhile are left to the next flush: under load there are always more.
  const CommitStamp last = tablet.last_stamp();
  while (Ref<TabletMemtable> memtable = tablet.memtables().oldest_frozen()) {
    if (memtable->entries.min_stamp() > last) break;
    CO_TRY_VOID(co_await flush_oldest(tablet, std::move(memtable)));
    tablet.shard().readers.cursors.shed(tablet.shard().memory.gauge,
                                        tablet.shard().memory.pinned_bound());
  }
  co_return Result<void>{};
}

}  // namespace cellar::engine
