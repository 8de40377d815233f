#include "engine/flush.h"

#include <utility>
#include <vector>

#include "engine/install.h"
#include "engine/open_tablet.h"
#include "engine/sstable/table_writer.h"

namespace cellar::engine {
namespace {

// Entries added between two looks at the loop's other work: about 300 us.
constexpr size_t kEntriesPerSlice = 2048;

TableWriterOptions writer_options(Tablet& tablet, BlobId blob, uint64_t run) {
  const TabletState& state = tablet.state();
  const TableOptions& options = tablet.schema().options;
  return {.blob = blob,
          .table = state.table,
          .tablet = tablet.id(),
          .tablet_start = state.start,
          .tablet_end = state.end,
          .run = run,
          .compression = options.compression,
          .block_bytes = options.block_bytes};
}

Async<Result<void>> add_all(const Memtable& memtable, TableWriter& writer) {
  for (const StampedRange& range : memtable.range_deletes()) writer.add_range_delete(range);
  Memtable::Iterator it = memtable.iterator();
  size_t added = 0;
  for (Step step = it.seek({}); step == Step::ready; step = it.next()) {
    writer.add(it.key(), it.value());
    if (writer.wants_flush()) CO_TRY_VOID(co_await writer.flush());
    if (++added % kEntriesPerSlice == 0) co_await yield_now();
  }
  co_return Result<void>{};
}

Async<Result<TableMeta>> write_table(Tablet& tablet, const Memtable& memtable) {
  ShardContext& shard = tablet.shard();
  const BlobId blob = shard.ids.next();
  CO_TRY(auto out,
         co_await shard.blobs.create(blob, memtable.content_bytes(), IoClass::flush));
  TableWriter writer(writer_options(tablet, blob, tablet.state().next_run), std::move(out));
  auto added = co_await add_all(memtable, writer);
  if (!added) {
    const auto abandoned = co_await writer.abandon();
    if (!abandoned) shard.reaper.remove(blob);
    co_return std::unexpected(std::move(added).error());
  }
  auto meta = co_await writer.finish();
  if (!meta) shard.reaper.remove(blob);
  co_return meta;
}

// Everything of the tablet that is not in tables now lies in the open log, after the memtable.
TabletState state_after(const Tablet& tablet, const TabletMemtable& memtable) {
  TabletState state = tablet.state();
  state.last_flushed = memtable.entries.max_stamp();
  state.spans = {{.log = state.spans.back().log, .from = memtable.log_end}};
  return state;
}

Async<Result<void>> flush_oldest(Tablet& tablet, Ref<TabletMemtable> memtable) {
  CO_TRY_VOID(co_await tablet.commits().visible(memtable->entries.max_stamp()));
  CO_TRY(TableMeta meta, co_await write_table(tablet, memtable->entries));
  std::vector<TableMeta> outputs;
  outputs.push_back(std::move(meta));
  CO_TRY(Installation installation, co_await Installation::begin(tablet, std::move(outputs)));
  TabletState state = state_after(tablet, *memtable);
  ++state.next_run;
  CO_TRY(const uint64_t version, co_await installation.commit(state, {}));
  const std::vector<LogId> released = old_logs_of(tablet.state(), state.spans.back().log);
  tablet.flushed(memtable, installation.tables(), std::move(state), version);
  ++tablet.shard().flushes;
  tablet.shard().watcher->logs_released(released);
  tablet.shard().watcher->runs_changed(tablet);
  co_return Result<void>{};
}

}  // namespace

Async<Result<void>> flush_tablet(Tablet& tablet) {
  AsyncMutex::Lock lock = co_await tablet.flush_lock().lock();
  tablet.freeze();
  while (Ref<TabletMemtable> memtable = tablet.oldest_frozen()) {
    CO_TRY_VOID(co_await flush_oldest(tablet, std::move(memtable)));
  }
  co_return Result<void>{};
}

}  // namespace cellar::engine
