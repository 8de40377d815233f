#include "engine/shard/shard_engine.h"

#include <algorithm>
#include <array>

#include "engine/index_scan.h"
#include "engine/jobs/compact.h"
#include "engine/jobs/flush.h"
#include "engine/lookup/index_check_step.h"
#include "engine/lookup/tablet_index_scan.h"
#include "engine/read/scan.h"
#include "engine/tablet/index_readiness.h"
#include "engine/tablet/open_tablet.h"
#include "engine/tablet/refusals.h"
#include "io/base/check.h"
#include "io/base/large_memory.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

constexpr size_t kMemtableShare = MemoryBudget::kMemtableShare;
constexpr size_t kCacheShare = MemoryBudget::kCacheShare;
constexpr size_t kTokenShare = 8;  // of the node's memory: one in this many, at most

// Levels at which the backlogs of flushes and of merges are full (background.h).
constexpr size_t kMostFrozen = 2;  // memtables
constexpr double kMostRunsBehind = 24;

// A chunk of huge pages has to be a small part of the memory of the shard's memtables.
constexpr size_t kLeastChunks = 64;

// Tablets whose indexes are looked at between two yields.
constexpr size_t kIndexLooks = 16;

size_t token_bytes_of(const EngineOptions& options, uint32_t shards) {
  return std::min(options.token_bytes, options.memory_bytes / kTokenShare) / shards;
}

size_t memtable_bytes_of(const EngineOptions& options, uint32_t shards) {
  return options.memory_bytes / shards / kMemtableShare;
}

HugeChunks* chunks_of(const ShardEnv& env, size_t memtable_bytes) {
  if (!kLargeMemoryFromSystem) return nullptr;  // a sanitizer watches the heap only
  return memtable_bytes >= kLeastChunks * HugeChunks::kChunkBytes ? env.chunks : nullptr;
}

size_t row_cache_bytes_of(const EngineOptions& options, uint32_t shards) {
  return options.memory_bytes / shards / 100 * options.row_cache_percent;
}

}  // namespace

ShardEngine::ShardEngine(const ShardEnv& env, Setup setup)
    : setup_(std::move(setup)),
      logs_(env.logs),
      deleter_(env.runtime, env.blobs),
      cache_(setup_.options.memory_bytes / setup_.shards / kCacheShare),
      loader_(env.runtime.executor, cache_),
      context_{.shard = setup_.shard,
               .runtime = env.runtime,
               .options = setup_.options,
               .files = {.blobs = env.blobs,
                         .manifest = ManifestClient(setup_.mailbox, setup_.manifest),
                         .obsolete = ObsoleteBlobs(deleter_, setup_.shared_blobs, setup_.mailbox),
                         .loader = loader_,
                         .ids = SessionBlobIds(setup_.session, setup_.shard, setup_.ask_session)},
               .memory = {.hard_bytes = memtable_bytes_of(setup_.options, setup_.shards),
                          .gauge = {.blocks = BlockPool(chunks_of(
                                        env, memtable_bytes_of(setup_.options, setup_.shards)))}},
               .readers = {.open_blocks_bytes =
                               setup_.options.memory_bytes / setup_.shards / kCacheShare},
               .wal = ShardLog(setup_.shard, setup_.read_only),
               .tokens = TokenMemory(setup_.tokens, token_bytes_of(setup_.options, setup_.shards)),
               .rows = RowCache(row_cache_bytes_of(setup_.options, setup_.shards)),
               .watcher = this},
      budget_(setup_.options.memory_bytes, setup_.shards, context_.memory, cache_, context_.tokens,
              context_.range_tokens, context_.rows),
      maintenance_(context_, tablets_),
      reshape_(context_, tablets_),
      scrubber_(context_, tablets_, setup_.shards) {
  // While one memtable is flushed, two more can fill before writes are refused.
  context_.options.memtable_bytes =
      std::min(context_.options.memtable_bytes, context_.memory.hard_bytes / 3);
  budget_.on_short(setup_.call_back);
  context_.flow.watch([this] { return flow_levels(); });
  context_.turns.watch([this] { return flow_levels(); });
  context_.background.watch([this](BackgroundKind kind) { return backlog(kind); });
}

ShardEngine::~ShardEngine() = default;

// ---- Engine

Result<Tablet*> ShardEngine::find(TabletId id, Epoch epoch) const {
  const auto it = tablets_.find(id);
  if (it == tablets_.end()) {
    return fail(Errc::aborted, "tablet {} is not on shard {}", id, setup_.shard);
  }
  if (it->second->access().hidden)
    return fail(Errc::aborted, "the table of tablet {} was dropped", id);
  if (epoch != Epoch{} && epoch != it->second->epoch()) {
    return fail(Errc::aborted, "tablet {} has epoch {}, not {}", id, it->second->epoch(), epoch);
  }
  return it->second.get();
}

template <class AnyWrite>
void ShardEngine::hand_over(AnyWrite& write) {
  const auto tablet = find(write.tablet, write.epoch);
  const Result<void> taken =
      tablet ? (*tablet)->submit(write) : Result<void>(std::unexpected(tablet.error()));
  if (!taken) {
    write.error = taken.error();
    write.done(write);
    return;
  }
  watch_log();
}

void ShardEngine::submit(Write& write) { hand_over(write); }
void ShardEngine::submit(ConditionalWrite& write) { hand_over(write); }

void ShardEngine::watch_log() {
  if (context_.wal.growth_bytes >= Maintenance::kLogCheckBytes) {
    context_.wal.growth_bytes = 0;
    maintenance_.trim_log();
    if (context_.wal.log->needed_bytes() > maintenance_.log_bound()) maintenance_.wake_flush();
  }
}

Result<std::unique_ptr<ScanCursor>> ShardEngine::open_scan(TabletId tablet, Epoch epoch,
                                                           const ReadSpec& spec) {
  TRY(Tablet * found, find(tablet, epoch));
  return found->open_scan(spec);
}

Result<std::unique_ptr<IndexScan>> ShardEngine::open_index(TabletId tablet, Epoch epoch,
                                                           const IndexReadSpec& spec) {
  TRY(Tablet * found, find(tablet, epoch));
  return open_index_scan(*found, spec);
}

Result<ReadStart> ShardEngine::start_read(TabletId tablet, Epoch epoch, const ReadSpec& spec,
                                          CellSink& sink, const Clock* clock) {
  TRY(Tablet * found, find(tablet, epoch));
  return found->start_read(spec, sink, row_reads_, clock);
}

void ShardEngine::expect_rows(std::span<const ExpectedRow> rows) {
  std::array<Tablet::Expected, kMostExpectedRows> expected;
  const size_t count = std::min(rows.size(), expected.size());
  for (size_t i = 0; i < count; ++i) {
    const auto it = tablets_.find(rows[i].tablet);
    if (it == tablets_.end()) continue;
    const Tablet& tablet = *it->second;
    expected[i] = rows[i].written ? tablet.expect_write(rows[i].row, expected_key_)
                                  : tablet.expect_read(rows[i].row);
  }
  size_t reads = 0;
  for (size_t i = 0; i < count; ++i) {
    const ReadSources* sources = expected[i].sources;
    if (sources == nullptr || context_.rows.expect_result(expected[i].row_hash)) continue;
    expected_reads_[reads++].begin(*sources, rows[i].row);
  }
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < count; ++i) more |= EntryTree::expect_next(expected[i].entry);
    for (size_t i = 0; i < reads; ++i) more |= expected_reads_[i].next();
  }
}

Result<std::unique_ptr<ScanCursor>> ShardEngine::open_watched(TabletId tablet, Epoch epoch,
                                                              uint64_t schema_version,
                                                              const ReadSpec& spec,
                                                              std::unique_ptr<CellWatch> watch) {
  TRY(Tablet * found, find(tablet, epoch));
  if (found->schema().version != schema_version)
    return fail(Errc::aborted, "tablet {} goes by version {} of its table's schema, not {}", tablet,
                found->schema().version, schema_version);
  TRY(auto cursor, found->open_scan(spec, nullptr, std::move(watch)));
  cursor->watch(context_.runtime.clock.machine());
  return cursor;
}

std::vector<TabletContents> ShardEngine::contents(const std::vector<TabletId>& ids) const {
  std::vector<TabletContents> all;
  for (TabletId id : ids) {
    if (const auto it = tablets_.find(id); it != tablets_.end())
      all.push_back(contents_of(it->second->version()));
  }
  return all;
}

Result<Tablet*> ShardEngine::find_to_write(TabletId id) const {
  if (setup_.read_only) return std::unexpected(context_.wal.refusal());
  return find(id, Epoch{});
}

Async<Result<void>> ShardEngine::flush(TabletId tablet) {
  std::vector<TabletId> one{tablet};
  co_return co_await flush_each(std::move(one));
}

Async<Result<void>> ShardEngine::flush_each(std::vector<TabletId> tablets) {
  auto flush_one = [this, &tablets](size_t i) -> Async<Result<void>> {
    CO_TRY(Tablet * found, find_to_write(tablets[i]));
    CO_TRY(Gate::Pass pass, found->gate().enter());
    co_return co_await flush_tablet(*found);
  };
  auto outcome =
      co_await flush_in_lanes(context_.runtime.executor, tablets.size(), std::move(flush_one));
  maintenance_.trim_log();  // looks at every tablet
  co_return outcome;
}

Async<Result<void>> ShardEngine::compact(TabletId tablet) {
  CO_TRY(Tablet * found, find_to_write(tablet));
  CO_TRY(Gate::Pass pass, found->gate().enter());
  CO_TRY_VOID(co_await flush_tablet(*found));
  CO_TRY_VOID(co_await compact_fully(*found));
  maintenance_.trim_log();
  co_return Result<void>{};
}

Async<Result<void>> ShardEngine::compact_window(TabletId tablet, size_t first, size_t count) {
  CO_TRY(Tablet * found, find_to_write(tablet));
  CO_TRY(Gate::Pass pass, found->gate().enter());
  co_return co_await engine::compact_window(*found, first, count);
}

Result<uint64_t> ShardEngine::tablet_bytes(TabletId tablet) const {
  TRY(Tablet * found, find(tablet, Epoch{}));
  uint64_t bytes = 0;
  for (const auto& memtable : found->version().memtables) {
    bytes += memtable->entries.content_bytes();
  }
  for (const TabletRun& run : found->version().runs) {
    for (const Ref<TabletTable>& table : run.tables) bytes += table->slice().bytes();
  }
  return bytes;
}

EngineStats ShardEngine::stats() const {
  EngineStats stats;
  stats.tablets = tablets_.size();
  stats.tables_on_disk = context_.tables.tables;
  stats.table_bytes = context_.tables.bytes;
  stats.metadata_bytes = context_.files.open_tables.metadata_bytes();
  stats.tokens = context_.tokens.tokens() + context_.range_tokens.tokens();
  if (context_.wal.log) {
    stats.log_bytes = context_.wal.log->bytes_on_disk();
    stats.log_pending_bytes = flow_levels().log_pending_bytes;
  }
  stats.memtable_bytes = context_.memory.gauge.all_bytes();
  stats.pinned_memtable_bytes = context_.memory.gauge.pinned_bytes;
  stats.cache_bytes = cache_.held_bytes();
  stats.commits = context_.counters.commits;
  stats.flushes = context_.counters.flushes;
  stats.reclaim_turns = context_.counters.reclaim_turns;
  stats.compactions = context_.counters.compactions;
  stats.torn_tail_bytes = torn_tail_bytes_;
  stats.replayed_commits = replayed_commits_;
  stats.read_only_start = setup_.read_only.has_value();
  stats.read_only =
      context_.wal.stopped().has_value() || (context_.wal.log && context_.wal.log->failure());
  return stats;
}

FlowLevels ShardEngine::flow_levels() const {
  FlowLevels levels{.memtable_bytes = context_.memory.gauge.bytes,
                    .memtable_bound = context_.memory.room(),
                    .full_memtable_bytes = context_.options.memtable_bytes};
  if (context_.wal.log == nullptr) return levels;
  levels.log_durable_end = context_.wal.log->durable_end().value();
  const uint64_t end = context_.wal.log->end().value();
  levels.log_pending_bytes = end > levels.log_durable_end ? end - levels.log_durable_end : 0;
  levels.log_pending_bound = WriteTurns::kQueueBytes;
  levels.log_failed = context_.wal.log->failure() != nullptr;
  return levels;
}

// A flush is late when more memtables wait for one than can while the next one fills. A merge is
// late when its tablet has enough excess runs to slow writers, when it could not reclaim in time
// with a smaller share, or when such a merge waits for it.
double ShardEngine::backlog(BackgroundKind kind) const {
  if (kind == BackgroundKind::merge) {
    if (context_.merge_slot.tablet() == nullptr) return 0;
    if (context_.merge_slot.reclaims_waiting() > 0) return 1;
    return std::max(
        static_cast<double>(context_.merge_slot.tablet()->runs_behind()) / kMostRunsBehind,
        Background::backlog_of(context_.merge_slot.reclaim_share()));
  }
  const auto part = [](size_t level, size_t bound) {
    return static_cast<double>(level) / static_cast<double>(std::max<size_t>(bound, 1));
  };
  return std::max(
      part(context_.memory.gauge.frozen_bytes, kMostFrozen * context_.options.memtable_bytes),
      part(context_.memory.gauge.bytes, context_.memory.room()));
}

// ---- notifications of tablets

void ShardEngine::memtable_full(Tablet& /*tablet*/) { maintenance_.wake_flush(); }

void ShardEngine::logs_released(std::vector<LogId> logs) {
  if (logs.empty()) return;
  if (setup_.shard == kHomeShard) {
    setup_.old_logs.release(logs);
    return;
  }
  auto release = [&old = setup_.old_logs, mine = std::move(logs)] { old.release(mine); };
  setup_.mailbox.post_on(kHomeShard, std::move(release));
}

// ---- for Node

Async<Result<ShardRecovery>> ShardEngine::recover(std::vector<TabletSeed> seeds) {
  ReplayPlan plan;
  CO_TRY(auto opened, co_await open_tablets(context_, std::move(seeds)));
  for (std::unique_ptr<Tablet>& tablet : opened) {
    plan.add(tablet->id(), tablet->epoch(), tablet->state().spans, *tablet);
    tablets_.emplace(tablet->id(), std::move(tablet));
  }
  ShardRecovery recovery;
  CO_TRY(recovery.replay, co_await ReplayPlan::run(std::move(plan), logs_));
  if (!setup_.read_only) {
    CO_TRY(context_.wal.log, co_await logs_.create(log_id()));
  }
  for (const auto& [id, tablet] : tablets_) {
    recovery.tablets.push_back(setup_.read_only
                                   ? unchanged_state(*tablet)
                                   : recovered_state(*tablet, recovery.replay, log_id()));
  }
  replayed_commits_ = recovery.replay.commits;
  co_return recovery;
}

void ShardEngine::serve(std::vector<std::pair<RecoveredTablet, uint64_t>> tablets,
                        uint64_t torn_tail_bytes) {
  for (auto& [recovered, version] : tablets) {
    tablets_.at(recovered.id)->recovered(std::move(recovered.state.spans), version);
    maintenance_.runs_changed(recovered.id);
  }
  torn_tail_bytes_ = torn_tail_bytes;
  maintenance_.start();
  scrubber_.start();
}

void ShardEngine::add(std::vector<TabletSeed> seeds) {
  int64_t reclaim_within_us = INT64_MAX;
  for (TabletSeed& seed : seeds) {
    const TabletId id = seed.id;
    reclaim_within_us = std::min(reclaim_within_us, seed.schema.options.reclaim_within_us);
    auto tablet =
        std::make_unique<Tablet>(context_, std::move(seed), std::vector<Ref<TabletTable>>());
    const bool added = tablets_.emplace(id, std::move(tablet)).second;
    CHECK(added, "tablet {} is on shard {} already", id, setup_.shard);
  }
  maintenance_.tablets_added(reclaim_within_us);
}

Async<Result<std::vector<IndexState>>> ShardEngine::index_states(std::vector<TabletId> ids,
                                                                 std::vector<IndexSchema> indexes) {
  std::vector<IndexState> states;
  for (const IndexSchema& index : indexes) states.push_back({.id = index.id});
  size_t looked_at = 0;
  for (const TabletId id : ids) {
    if (++looked_at % kIndexLooks == 0) co_await yield_now();
    CO_TRY(const Tablet* tablet, find(id, Epoch{}));
    const int64_t now_us = context_.runtime.clock.now_us();
    for (size_t i = 0; i < indexes.size(); ++i) {
      states[i].add(index_state_of(tablet->version(), indexes[i], now_us));
    }
  }
  co_return states;
}

Async<Result<void>> ShardEngine::check_index(TabletId tablet, Epoch epoch, IndexCheckPlace& place,
                                             IndexCheckReport& report) {
  CO_TRY(Tablet * found, find(tablet, epoch));
  auto pass = found->gate().enter();
  if (!pass) co_return std::unexpected(tablet_is_gone(tablet));
  CO_TRY_VOID(co_await check_index_step(*found, place, report));
  if (place.done) {
    const IndexSchema* index = found->schema().find_index(place.index);
    const int64_t now_us = context_.runtime.clock.now_us();
    if (index != nullptr)
      report.entries += index_state_of(found->version(), *index, now_us).entries;
  }
  co_return Result<void>{};
}

CommitStamp ShardEngine::last_stamp(const std::vector<TabletId>& ids) const {
  CommitStamp last{static_cast<uint64_t>(context_.runtime.clock.now_us()) * 1000};
  for (TabletId id : ids) last = std::max(last, tablets_.at(id)->last_stamp());
  return last;
}

CommitStamp ShardEngine::gc_watermark(const std::vector<TabletId>& ids) const {
  CommitStamp gc_watermark = kMaxStamp;
  for (TabletId id : ids) {
    gc_watermark = std::min(gc_watermark, gc_watermark_of(tablets_.at(id)->version()));
  }
  return gc_watermark;
}

void ShardEngine::alter(const std::vector<TabletId>& ids, const TableSchema& schema) {
  // The instant of a change may be another shard's reading. From now on reads on this shard are not
  // judged earlier, even after the change is undone or forgotten.
  context_.runtime.clock.raise(static_cast<int64_t>(last_rule_change(schema).value() / 1000));
  for (TabletId id : ids) {
    tablets_.at(id)->alter(schema);
    maintenance_.indexes_changed(id);
  }
  maintenance_.tables_changed();
}

namespace {

// The log fails below the earlier writes: the change has not begun.
Result<void> not_begun(const Result<void>& durable) {
  if (durable) return {};
  Error error(Errc::unavailable, durable.error().message);
  error.applied = Applied::not_applied;
  return std::unexpected(std::move(error));
}

}  // namespace

Async<Result<void>> ShardEngine::hold_writes(std::vector<TabletId> ids) {
  if (ids.empty()) co_return Result<void>{};
  if (context_.wal.is_stopped()) co_return std::unexpected(context_.wal.refusal());
  std::vector<Gate::Pass> passes;
  for (TabletId id : ids) {
    CO_TRY(Gate::Pass pass, tablets_.at(id)->gate().enter());
    passes.push_back(std::move(pass));
  }
  for (TabletId id : ids) tablets_.at(id)->rule_hold().hold_writes();
  for (TabletId id : ids) co_await tablets_.at(id)->rule_hold().earlier_writes_appended();
  if (context_.wal.is_stopped()) co_return std::unexpected(context_.wal.refusal());
  Result<void> durable = co_await context_.wal.log->sync();
  for (size_t i = 0; i < ids.size() && durable; ++i) {
    Tablet& tablet = *tablets_.at(ids[i]);
    durable = co_await tablet.commits().visible(tablet.history().last_commit);
  }
  co_return not_begun(durable);
}

void ShardEngine::hold_reads(const std::vector<TabletId>& ids) {
  for (TabletId id : ids) tablets_.at(id)->rule_hold().hold_reads();
}

void ShardEngine::release(const std::vector<TabletId>& ids) {
  for (TabletId id : ids) {
    if (RuleHold& hold = tablets_.at(id)->rule_hold(); hold.holds_writes()) hold.release();
  }
}

void ShardEngine::hide(const std::vector<TabletId>& ids, bool hidden) {
  for (TabletId id : ids) tablets_.at(id)->access().hidden = hidden;
}

Async<std::vector<uint64_t>> ShardEngine::begin_drop(std::vector<TabletId> ids) {
  std::vector<uint64_t> versions;
  for (TabletId id : ids) {
    Tablet& tablet = *tablets_.at(id);
    co_await tablet.begin_drop();
    versions.push_back(tablet.manifest_version());
  }
  co_return versions;
}

void ShardEngine::cancel_drop(const std::vector<TabletId>& ids) {
  for (TabletId id : ids) tablets_.at(id)->cancel_drop();
}

Async<void> ShardEngine::finish_drop(std::vector<TabletId> ids) {
  co_await reshape_.finish(reshape_.take_out(ids), log_id());
  maintenance_.trim_log();
}

Async<bool> ShardEngine::give_memory(size_t bytes, int64_t most_us) {
  budget_.grant(-static_cast<int64_t>(bytes));
  const Timers& timers = context_.runtime.timers;
  const int64_t until_us = timers.now_us() + most_us;
  while (cache_.debt_bytes() > 0 && timers.now_us() < until_us) {
    co_await sleep_us(context_.runtime.timers, Timers::kTickUs);
  }
  if (cache_.debt_bytes() == 0) co_return true;
  budget_.grant(static_cast<int64_t>(bytes));
  co_return false;
}

Async<Result<void>> ShardEngine::close() {
  end_waits();
  co_await scrubber_.stop();
  co_await maintenance_.stop();
  std::vector<Tablet*> closing;
  for (const auto& [id, tablet] : tablets_) closing.push_back(tablet.get());
  for (Tablet* tablet : closing) {
    co_await tablet->turns_drained();
    co_await tablet->gate().close();
  }
  std::vector<Tablet*> unflushed;
  for (const auto& [id, tablet] : tablets_) {
    if (tablet->memtables().has_unflushed()) unflushed.push_back(tablet.get());
  }
  auto flush_one = [this, &unflushed](size_t i) -> Async<Result<void>> {
    if (context_.wal.is_stopped()) co_return Result<void>{};
    co_return co_await flush_tablet(*unflushed[i]);
  };
  auto outcome =
      co_await flush_in_lanes(context_.runtime.executor, unflushed.size(), std::move(flush_one));
  if (context_.wal.log) {
    auto sealed = co_await context_.wal.log->seal();
    if (!sealed && outcome) outcome = std::unexpected(std::move(sealed).error());
  }
  co_await deleter_.drain();
  co_await loader_.idle();
  co_return outcome;
}

}  // namespace cellar::engine
