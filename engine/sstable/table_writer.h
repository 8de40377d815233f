// TableWriter: writes one table, entry by entry.
//
//   TableWriter writer(options, std::move(blob_writer));
//   for (...) {
//     writer.add(key, value);
//     if (writer.wants_flush()) CO_TRY_VOID(co_await writer.flush());
//   }
//   CO_TRY(TableMeta meta, co_await writer.finish());
//
// add() is a plain call: finished blocks are kept in memory until flush() passes them to the blob
// writer. One shard. Either finish() or abandon() must have completed before destruction.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/index/entry_sorter.h"
#include "engine/index/index_set.h"
#include "engine/iter/range_delete.h"
#include "engine/sstable/block_packer.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_parts.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob_store.h"
#include "io/loop/background.h"

namespace cellar::engine {

struct TableWriterOptions {
  BlobId blob;  // the blob writer's id
  TableId table;
  TabletId tablet;
  std::string tablet_start;
  std::string tablet_end;
  uint64_t run = 0;
  CommitStamp gc_watermark;  // TableMeta::gc_watermark
  Compression compression = Compression::lz4;
  uint32_t block_bytes = 4096;
  uint32_t filter_bits_per_row = 10;  // also per key of the column filter; 0: no filter
  // Size of each part of index and filters (index_parts.h); 0: one index and one filter, which stay
  // in memory while the table is open.
  size_t part_bytes = 0;
  // The table gets a section of each of these; null: none. Entries past an index's own age at
  // `now_us` are left out.
  IndexSetRef indexes = nullptr;
  int64_t now_us = INT64_MIN;
};

class TableWriter {
 public:
  // wants_flush() is true from this size on.
  static constexpr size_t kFlushBytes = 256 * 1024;

  TableWriter(TableWriterOptions options, std::unique_ptr<BlobWriter> out);

  // Keys strictly ascending and well-formed (CHECKed).
  void add(Bytes key, Bytes value);
  // In any order.
  void add_range_delete(RangeTombstone range);
  bool wants_flush() const { return pending_.size() >= kFlushBytes; }
  Async<Result<void>> flush();
  // Writes the rest and seals the blob; the table is durable when this returns. Long steps yield
  // through `work` (no slice may be active); null: yields to the loop.
  Async<Result<TableMeta>> finish(Background::Work* work = nullptr);
  Async<Result<void>> abandon();

  // Size so far, including pending data; grows by blocks.
  uint64_t file_bytes() const { return offset_ + block_.bytes(); }
  // The table should end: it has so many bytes, an index that is large beside its blocks, or as
  // many entries of its sections as may be in memory.
  bool is_full(uint64_t table_bytes) const {
    return file_bytes() >= table_bytes || index_.bytes() >= kMostIndexBytes ||
           entry_bytes_ >= kMostEntryBytes;
  }
  uint64_t entries() const { return meta_.entries; }
  bool empty() const { return meta_.entries == 0 && ranges_.empty(); }
  // The last key added, from which a caller finds the end of a row.
  Bytes last_key() const { return last_key_; }

 private:
  static constexpr size_t kMostIndexBytes = 64u << 20;
  static constexpr size_t kMostEntryBytes = 16u << 20;

  // The entries of one index, until its section is written.
  struct Section {
    EntrySorter entries;
    IndexSection facts;
  };

  void note(const ParsedKey& key, Bytes key_bytes, Bytes value);
  void note_index_entries(const ParsedKey& cell, Bytes value);
  void add_index_entry(size_t index, int64_t timestamp_us, Bytes key, Bytes value);
  Async<Result<void>> write_sections(Background::Work* work);
  Async<Result<void>> write_section(Section& section, Background::Work* work);
  void cut_block();
  BlockHandle append(Bytes raw);
  Async<void> append_filter(FilterBuilder& filter, Background::Work* work, BlockHandle& handle);
  Async<void> append_raw(Bytes contents, Background::Work* work, BlockHandle& handle);
  Async<void> append_index(Background::Work* work, BlockHandle& handle);
  Async<void> append_parts(Background::Work* work, std::vector<uint32_t>& sizes);
  Async<void> append_filters(Background::Work* work, TableFooter& footer);
  Async<void> append_tail(Background::Work* work, const std::vector<uint32_t>& part_sizes);

  TableWriterOptions options_;
  std::unique_ptr<BlobWriter> out_;
  std::string pending_;
  uint64_t offset_ = 0;  // in the blob, after pending_
  BlockPacker packer_;
  BlockWriter block_;
  TimeBounds block_bounds_;
  std::string block_first_key_;
  std::string previous_last_key_;  // last key of the previous block
  std::string last_key_;
  TableIndexBuilder index_;
  FilterBuilder filter_;
  ColumnKeys columns_;
  std::unique_ptr<PartsWriter> parts_;  // replaces these three
  CellProfileBuilder profile_;
  size_t last_row_bytes_ = 0;  // of the row prefix of last_key_
  std::vector<RangeTombstone> ranges_;
  EntryMaker index_maker_;
  std::vector<Section> sections_;
  size_t entry_bytes_ = 0;  // memory of their entries
  TableMeta meta_;
};

}  // namespace cellar::engine
