#include "engine/repair/merge_tables.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "engine/iter/merging_iterator.h"
#include "engine/read/block_load.h"
#include "engine/sstable/index_parts.h"
#include "engine/sstable/table_iterator.h"

namespace cellar::engine {

TableMerge::TableMerge(ShardExecutor executor, BlobStore& to, RepairIds& ids)
    : to_(to), ids_(ids), cache_(kCacheBytes), loader_(executor, cache_) {}

Async<Result<std::vector<TableMeta>>> TableMerge::run(std::vector<MergeSource> sources,
                                                      TableWriterOptions format,
                                                      std::set<std::string>& families) {
  while (sources.size() > kMostSources) {
    std::vector<MergeSource> round;
    for (size_t at = 0; at < sources.size(); at += kMostSources) {
      const auto first = sources.begin() + static_cast<ptrdiff_t>(at);
      const auto count = static_cast<ptrdiff_t>(std::min(kMostSources, sources.size() - at));
      CO_TRY(const std::vector<TableMeta> merged,
             co_await merge_some({first, first + count}, format, UINT64_MAX, families));
      for (const TableMeta& meta : merged) round.push_back({&to_, meta.blob});
    }
    sources = std::move(round);
  }
  co_return co_await merge_some(std::move(sources), format, kTableBytes, families);
}

// Removes those of the sources that an earlier round wrote.
Async<Result<std::vector<TableMeta>>> TableMerge::merge_some(std::vector<MergeSource> sources,
                                                             const TableWriterOptions& format,
                                                             uint64_t table_bytes,
                                                             std::set<std::string>& families) {
  CO_TRY(std::vector<TableMeta> merged, co_await merge(sources, format, table_bytes, families));
  for (const MergeSource& source : sources) {
    if (source.store == &to_) CO_TRY_VOID(co_await to_.remove(source.id));
  }
  co_return merged;
}

Async<Result<std::vector<TableMeta>>> TableMerge::merge(std::vector<MergeSource> sources,
                                                        TableWriterOptions format,
                                                        uint64_t table_bytes,
                                                        std::set<std::string>& families) {
  Tables tables;
  uint64_t bytes = 0;
  for (const MergeSource& source : sources) {
    CO_TRY(auto blob, co_await source.store->open(source.id));
    bytes += blob->size();
    CO_TRY(auto table, co_await TableReader::open(std::move(blob), loader_));
    tables.push_back(std::move(table));
  }
  format.part_bytes = bytes > kWholeIndexBytes ? PartsWriter::kPartBytes : 0;
  auto written = co_await write(tables, std::move(format), table_bytes, families);
  co_await loader_.idle();  // reads ahead outlive their iterators
  co_return written;
}

namespace {

// Every range once.
std::vector<RangeTombstone> ranges_of(const std::vector<std::unique_ptr<TableReader>>& tables) {
  std::set<std::tuple<std::string, std::string, uint64_t>> seen;
  std::vector<RangeTombstone> ranges;
  for (const auto& table : tables) {
    for (const RangeTombstone& range : table->range_deletes()) {
      if (seen.emplace(range.start, range.end, range.stamp.value()).second) ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace

Async<Result<std::vector<TableMeta>>> TableMerge::write(Tables& tables, TableWriterOptions format,
                                                        uint64_t table_bytes,
                                                        std::set<std::string>& families) {
  MergingIterator merge;
  for (const auto& table : tables) {
    merge.add(std::make_unique<TableIterator>(*table, TableIteratorOptions::for_compaction()));
  }
  std::vector<RangeTombstone> ranges = ranges_of(tables);
  std::vector<TableMeta> outputs;
  std::unique_ptr<TableWriter> writer;
  Result<void> done;
  Step step = merge.seek("");
  std::string row;  // prefix of the last entry's row
  while (done && (step != Step::end || !ranges.empty())) {
    if (step == Step::failed) {
      done = std::unexpected(merge.error());
      break;
    }
    if (step == Step::blocked) {
      co_await load_blocks(merge);
      step = merge.resume();
      continue;
    }
    ParsedKey key;
    if (step == Step::ready && !parse_key(merge.key(), key)) {
      done = fail(Errc::data_loss, "'{}' is no entry key", escape_bytes(merge.key()));
      break;
    }
    if (writer && writer->is_full(table_bytes) && key.row_prefix != row) {
      auto meta = co_await finish_table(*writer, {});
      writer.reset();
      if (!meta) {
        done = std::unexpected(std::move(meta).error());
        break;
      }
      outputs.push_back(*std::move(meta));
    }
    if (!writer) {
      CO_TRY(format.blob, ids_.next());
      CO_TRY(auto blob, co_await to_.create(format.blob, 0, IoClass::compaction));
      writer = std::make_unique<TableWriter>(format, std::move(blob));
      for (const RangeTombstone& range : ranges) writer->add_range_delete(range);
      ranges.clear();
    }
    if (step == Step::end) break;
    if (!key.family.empty() && !families.contains(std::string(key.family))) {
      families.emplace(key.family);
    }
    row.assign(key.row_prefix);
    writer->add(merge.key(), merge.value());
    if (writer->wants_flush()) done = co_await writer->flush();
    if (done) step = merge.next();
  }
  if (!writer) {
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return outputs;
  }
  CO_TRY(TableMeta meta, co_await finish_table(*writer, std::move(done)));
  outputs.push_back(std::move(meta));
  co_return outputs;
}

}  // namespace cellar::engine
