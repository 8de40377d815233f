// TableWriter: writes one table, entry by entry.
//
//   TableWriter writer(options, std::move(blob_writer));
//   for (...) {
//     writer.add(key, value);
//     if (writer.wants_flush()) CO_TRY_VOID(co_await writer.flush());
//   }
//   CO_TRY(TableMeta meta, co_await writer.finish());
//
// add() is a plain call: finished blocks gather in memory until flush() hands them to the blob
// writer. One shard. Exactly one of finish() and abandon() must have completed before the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/sstable/block_packer.h"
#include "engine/sstable/block_writer.h"
#include "engine/sstable/column_keys.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "engine/sstable/parts_writer.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob_store.h"
#include "io/loop/background.h"

namespace cellar::engine {

struct TableWriterOptions {
  BlobId blob;  // the one that the blob writer was created with
  TableId table;
  TabletId tablet;
  std::string tablet_start;
  std::string tablet_end;
  uint64_t run = 0;
  CommitStamp settled;                         // TableMeta::settled
  Compression compression = Compression::lz4;  // zstd makes a table of format 2
  uint32_t block_bytes = 4096;
  uint32_t filter_bits_per_row = 10;  // and per key of the columns' filter; 0: no filter
  // Of each part of index and filters (index_part.h), which makes a table of format 3; 0: one index
  // and one filter, which are in memory as long as the table is open.
  size_t part_bytes = 0;
};

class TableWriter {
 public:
  // wants_flush() from here on.
  static constexpr size_t kFlushBytes = 256 * 1024;

  TableWriter(TableWriterOptions options, std::unique_ptr<BlobWriter> out);

  // Keys strictly ascending and well-formed (CHECKed).
  void add(Bytes key, Bytes value);
  // Any order.
  void add_range_delete(StampedRange range);
  bool wants_flush() const { return pending_.size() >= kFlushBytes; }
  Async<Result<void>> flush();
  // Writes what is left and seals the blob; the table is durable when this answers. What is long in
  // a large table is done in slices of `work`, which has none at hand; without one, in turns.
  Async<Result<TableMeta>> finish(Background::Work* work = nullptr);
  Async<Result<void>> abandon();

  // So far, all that is pending included; grows by blocks.
  uint64_t file_bytes() const { return offset_ + block_.bytes(); }
  uint64_t entries() const { return meta_.entries; }
  bool empty() const { return meta_.entries == 0 && ranges_.empty(); }
  // Of the last entry added: where a splitter may look for the end of a row.
  Bytes last_key() const { return last_key_; }

 private:
  void note(const ParsedKey& key, Bytes key_bytes, Bytes value);
  void cut_block();
  BlockHandle append(Bytes raw);
  uint32_t format() const;
  Async<void> append_filter(FilterBuilder& filter, Background::Work* work, BlockHandle& handle);
  Async<void> append_raw(Bytes contents, Background::Work* work, BlockHandle& handle);
  Async<void> append_index(Background::Work* work, BlockHandle& handle);
  Async<void> append_parts(Background::Work* work, std::vector<uint32_t>& sizes);
  Async<void> append_filters(Background::Work* work, TableFooter& footer);
  Async<void> append_tail(Background::Work* work);

  TableWriterOptions options_;
  std::unique_ptr<BlobWriter> out_;
  std::string pending_;
  uint64_t offset_ = 0;  // in the blob, just behind pending_
  BlockPacker packer_;
  BlockWriter block_;
  TimeBounds block_bounds_;
  std::string block_first_key_;
  std::string previous_last_key_;  // of the block before the open one
  std::string last_key_;
  TableIndexBuilder index_;
  FilterBuilder filter_;
  ColumnKeys columns_;
  std::unique_ptr<PartsWriter> parts_;  // in place of these three
  CellProfileBuilder profile_;
  size_t last_row_bytes_ = 0;  // of the row prefix at the head of last_key_
  std::vector<StampedRange> ranges_;
  TableMeta meta_;
};

}  // namespace cellar::engine
