#include "engine/repair/repair_work.h"

#include <algorithm>

#include "engine/model/schema.h"
#include "engine/sstable/index_parts.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/local_stores.h"

namespace cellar::engine {
namespace {

// Whether a copy is whole: every block of it is read.
Async<Result<bool>> is_whole(BlobStore& store, BlobId id, uint64_t bytes) {
  CO_TRY(const std::unique_ptr<Blob> blob, co_await store.open(id));
  if (blob->size() != bytes) co_return false;
  TableSalvage salvage(*blob);
  co_await salvage.open();
  while (salvage.readable() && salvage.damage().empty()) {
    const bool more = co_await salvage.next_block();
    if (!more) break;
  }
  co_return salvage.readable() && salvage.damage().empty();
}

}  // namespace

RepairWork::RepairWork(FileSystem& source, FileSystem& target, Timers& timers, ShardExecutor on,
                       RepairOptions how)
    : from(source),
      to(target),
      options(std::move(how)),
      executor(on),
      from_blobs(make_local_blob_store(source)),
      to_blobs(make_local_blob_store(target)),
      blobs(timers, on, copying) {}

TableWriterOptions format_of(const TableMeta& meta, bool index_in_parts) {
  TableWriterOptions format;
  format.table = meta.table;
  format.tablet = meta.tablet;
  format.tablet_start = meta.tablet_start;
  format.tablet_end = meta.tablet_end;
  format.run = meta.run;
  format.gc_watermark = meta.gc_watermark;
  format.compression = meta.compression;
  format.block_bytes = std::clamp(meta.block_bytes, kMinBlockBytes, cellar::kMaxBlockBytes);
  format.part_bytes = index_in_parts ? PartsWriter::kPartBytes : 0;
  return format;
}

void lose_table(RepairWork& work, BlobId id, const TableMeta* known, std::string table,
                std::string why) {
  LostFile lost{.path = blob_path(id), .table = std::move(table), .why = std::move(why)};
  lost.whole = true;
  if (known != nullptr) {
    lost.blocks = known->blocks;
    lost.bytes = known->file_bytes;
    if (known->entries > 0) lost.rows.push_back(rows_of(*known));
    lost.range_deletes = known->range_deletes > 0;
  }
  work.report.lost_files.push_back(std::move(lost));
}

Async<Result<std::optional<TableMeta>>> rewrite_table(RepairWork& work, TableSalvage& salvage,
                                                      BlobId id, std::string table) {
  TableWriterOptions format = format_of(*salvage.meta(), salvage.index_in_parts());
  CO_TRY(format.blob, work.ids->next());
  CO_TRY(auto blob, co_await work.to_blobs->create(format.blob, 0, IoClass::compaction));
  TableWriter writer(std::move(format), std::move(blob));
  for (const RangeTombstone& range : salvage.range_deletes()) writer.add_range_delete(range);
  Result<void> written;
  while (written) {
    const bool more = co_await salvage.next_block();
    if (!more) break;
    for (const TableSalvage::Entry& entry : salvage.entries()) writer.add(entry.key, entry.value);
    if (writer.wants_flush()) written = co_await writer.flush();
  }
  std::optional<TableMeta> meta;
  if (written && writer.empty()) {
    CO_TRY_VOID(co_await writer.abandon());
  } else {
    CO_TRY(meta, co_await finish_table(writer, std::move(written)));
    ++work.report.files_rewritten;
  }
  if (salvage.lost_blocks() == 0 && !salvage.range_deletes_lost()) {
    work.report.damage.push_back(
        fmt::format("{}: {}; no entry is lost", blob_path(id), salvage.damage()));
    co_return meta;
  }
  work.report.lost_files.push_back({.path = blob_path(id),
                                    .table = std::move(table),
                                    .why = salvage.damage(),
                                    .blocks = salvage.lost_blocks(),
                                    .bytes = salvage.lost_bytes(),
                                    .rows = salvage.lost_rows(),
                                    .range_deletes = salvage.range_deletes_lost()});
  co_return meta;
}

Async<Result<std::optional<RescuedTable>>> rescue_table(RepairWork& work, const TableMeta& known,
                                                        std::string table) {
  const BlobId id = known.blob;
  ++work.report.files_found;
  if (work.options.progress) work.options.progress(fmt::format("table {}", blob_path(id)));
  auto source = co_await work.from_blobs->open(id);
  if (!source) {
    const bool missing = source.error().code == Errc::not_found;
    lose_table(work, id, &known, std::move(table),
               missing ? std::string("the file is missing") : source.error().message);
    co_return std::nullopt;
  }
  const auto copied = co_await work.blobs.copy(*work.from_blobs, *work.to_blobs, id);
  if (copied) {
    CO_TRY(const bool whole, co_await is_whole(*work.to_blobs, id, known.file_bytes));
    if (whole) {
      ++work.report.files_copied;
      co_return RescuedTable{known, true};
    }
    CO_TRY_VOID(co_await work.to_blobs->remove(id));
  }
  TableSalvage salvage(**source, &known);
  co_await salvage.open();
  if (!salvage.readable()) {
    lose_table(work, id, &known, std::move(table), salvage.damage());
    co_return std::nullopt;
  }
  CO_TRY(const auto meta, co_await rewrite_table(work, salvage, id, std::move(table)));
  if (!meta) co_return std::nullopt;
  co_return RescuedTable{*meta, false};
}

Async<Result<void>> read_log(RepairWork& work, LogSalvage& log, uint64_t from,
                             uint64_t recorded_end, LogTaker& sink) {
  ++work.report.logs_found;
  CO_TRY_VOID(co_await log.survey(from, recorded_end));
  CO_TRY_VOID(co_await log.deliver(sink));
  work.report.log_entries += log.entries();
  work.report.torn_records += log.torn_records();
  work.report.broken_entries += log.broken_entries();
  co_return Result<void>();
}

void lose_log_part(RepairWork& work, const LogGap& gap) {
  work.report.lost_logs.push_back({.place = gap.place,
                                   .from = gap.from,
                                   .to = gap.to,
                                   .after = gap.after,
                                   .before = gap.before});
}

std::optional<ClockState> clock_not_before(std::optional<ClockState> known, CommitStamp last) {
  const auto last_us = static_cast<int64_t>(last.value() / 1000) + 1;
  if (last.value() == 0 || (known && known->permitted_us >= last_us)) return known;
  ClockState clock = known.value_or(ClockState());
  clock.boot_id.clear();  // not comparable with the machine's boot-time clock
  clock.boot_us = 0;
  clock.wall_us = std::max(clock.wall_us, last_us);
  clock.trusted_us = std::max(clock.trusted_us, last_us);
  clock.permitted_us = std::max(clock.permitted_us, last_us);
  clock.steady_since_us = -1;
  return clock;
}

}  // namespace cellar::engine
