// An index in parts: IndexPartition, one part; TopLevelIndex, the ranges and positions of the
// parts; PartsWriter, which builds both while a table is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/sstable/block_cache.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "engine/sstable/table_index.h"

namespace cellar::engine {

// IndexPartition: a part of a table's index in a cached block: the positions of some hundred
// neighbouring data blocks, and filters over their rows and columns. It is searched in place:
// opening one costs nothing, and its memory is the block's.
//
//   blocks: u32, prefix bytes: u32, row filter bytes: u32, column filter bytes: u32
//   head: u32 each         the four bytes of the separator after the prefix, as a number
//   end: u32 each          of the stored block, relative to the part's first block
//   raw bytes: u32 each    uncompressed size
//   key end: u32 each      of the separator's rest, in the texts
//   text end: u32 each     of its time bounds, which follow it
//   prefix                 common prefix of all separators except the first
//   texts                  per block the separator's rest, then its time bounds
//   row filter             filter.h
//   column filter          filter.h; optional
//
// The first block's separator is that of the part, which is in the table's top-level index (its
// rest here is empty). Separators are defined in table_index.h.
//
// The bytes passed their checksum and are still not trusted: no call reads outside them. Invalid
// bytes yield wrong results, at worst handles of data blocks that fail verification.
class IndexPartition {
 public:
  IndexPartition() = default;
  // `contents` must outlive it. Its first block is at `data_offset`. False if they are not a part
  // of that many blocks.
  bool open(Bytes contents, size_t blocks, uint64_t data_offset);

  size_t blocks() const { return blocks_; }
  // As TableIndex's, for the blocks here: 0 for keys before all of them.
  size_t find(Bytes key) const { return find_by(key, false); }
  size_t find_before(Bytes key) const { return find_by(key, true); }
  // REQUIRES: 0 < i < blocks(). The separator is `prefix()` followed by this.
  Bytes separator_rest(size_t i) const;
  Bytes prefix() const { return prefix_; }
  // Size 0 if there is no such block.
  BlockHandle handle(size_t i) const;
  uint32_t raw_bytes(size_t i) const { return number(kRaw, i); }
  TimeBounds bounds(size_t i) const;

  Bytes row_filter() const { return row_filter_; }
  Bytes column_filter() const { return column_filter_; }
  // False only if no entry of a row with this row_hash() is in these blocks.
  bool may_contain_row(uint64_t hash) const { return filter_may_contain(row_filter_, hash); }
  // The same for a key of the column filter (wanted_entries.h); true if there is no such filter.
  bool may_contain_key(uint64_t hash) const {
    return column_filter_.empty() || filter_may_contain(column_filter_, hash);
  }

 private:
  friend class IndexPartitionBuilder;
  enum Column : uint8_t { kHead, kEnd, kRaw, kKeyEnd, kTextEnd };
  static constexpr size_t kColumns = 5;
  static constexpr size_t kHeaderBytes = 16;
  static constexpr size_t kHeadBytes = 4;

  uint32_t number(Column column, size_t i) const {
    return load_le<uint32_t>(columns_ + (column * blocks_ + i) * sizeof(uint32_t));
  }
  static uint32_t head_of(Bytes rest);
  size_t find_by(Bytes key, bool before) const;
  Bytes text(size_t begin, size_t end) const;
  size_t text_begin(size_t i) const { return i == 0 ? 0 : number(kTextEnd, i - 1); }

  const char* columns_ = nullptr;
  size_t blocks_ = 0;
  uint64_t data_offset_ = 0;
  Bytes prefix_;
  Bytes texts_;
  Bytes row_filter_;
  Bytes column_filter_;
};

// Built block by block.
class IndexPartitionBuilder {
 public:
  // `separator` as in TableIndexBuilder; the first one is not stored.
  void add(Bytes separator, uint32_t stored_bytes, uint32_t raw_bytes, const TimeBounds& bounds);
  size_t blocks() const { return blocks_.size(); }
  uint64_t data_bytes() const { return data_bytes_; }
  // Approximate size that finish() would append.
  size_t bytes() const;
  // Appends the part and starts the next one; empty filters are omitted.
  void finish(std::string& out, Bytes row_filter, Bytes column_filter);

 private:
  struct Block {
    uint32_t end;
    uint32_t raw_bytes;
    uint32_t separator_end;  // in separators_
    uint32_t bounds_end;     // in bounds_
  };
  Bytes separator(size_t i) const;

  std::vector<Block> blocks_;
  std::string separators_;
  std::string bounds_;
  uint64_t data_bytes_ = 0;
};

// TopLevelIndex: the top level of an index in parts: range and position of each part. It is all
// that an open table with parts keeps in memory, a hundredth of its index and filters; parts come
// through the cache like data blocks.
//
//   index size: varint, index   table_index.h, with parts in place of blocks: the size is that of
//                               all data blocks of the part, the raw size is their number
//   raw size: varint            of the largest data block
//   sample size: varint, sample a filter (filter.h) over the sampled rows; may be empty
//   size: varint each           stored size of the part; parts are contiguous after the data blocks
//
// The sample: parts cannot tell whether a row known only by its hash is in the table, because the
// hash does not give its position. The sample therefore has the rows that are first in row_order(),
// one in kSampleShare.
class TopLevelIndex {
 public:
  static constexpr uint64_t kSampleShare = 256;
  // Whether the sample covers such a row.
  static bool is_sampled(uint64_t row_hash);

  // `parts` is the index opened from index_bytes(contents); parts end at `end`. False if the bytes
  // are not a matching top-level index.
  bool open(Bytes contents, const TableIndex& parts, uint64_t end);
  // The bytes of the index of parts, and the end of the data blocks if parts end at `end`; empty if
  // the bytes are not a top-level index.
  struct Inner {
    Bytes index;
    uint64_t data_end;
  };
  static std::optional<Inner> inner(Bytes contents, uint64_t end);

  size_t parts() const { return places_.size(); }
  size_t blocks() const { return blocks_; }  // total of all parts
  // REQUIRES: part < parts().
  BlockHandle handle(size_t part) const { return {places_[part].offset, places_[part].size}; }
  size_t first_block(size_t part) const { return places_[part].first_block; }
  // The part that names the data block. REQUIRES: block < blocks().
  size_t part_of(size_t block) const;
  BlockSlot& slot(size_t part) { return slots_[part]; }
  uint32_t most_raw_bytes() const { return most_raw_bytes_; }
  // False only if the row is sampled and absent.
  bool may_contain_row(uint64_t row_hash) const {
    return !is_sampled(row_hash) || sample_.may_contain(row_hash);
  }
  size_t memory_bytes() const;

 private:
  struct Place {
    uint64_t offset;
    uint64_t first_block;
    uint32_t size;
  };

  std::vector<Place> places_;
  std::unique_ptr<BlockSlot[]> slots_;
  size_t blocks_ = 0;
  uint32_t most_raw_bytes_ = 0;
  Filter sample_;
};

// PartsWriter: builds the parts of a table's index and its top-level index during writing.
//
// A part takes blocks until its index and filters reach `part_bytes` or its data reaches
// kMostDataBytes; a part is then two or three device pages. Its filter has all rows with an entry
// in its blocks, including those that started in the previous part.
//
// Memory: finished parts are kept until the data is written, 2 % of its size; the current part
// takes 8 bytes per row and per column.
class PartsWriter {
 public:
  static constexpr size_t kPartBytes = 8 * 1024;
  static constexpr uint64_t kMostDataBytes = 64u << 20;

  PartsWriter(size_t part_bytes, uint32_t filter_bits);

  // The next entry starts a part: add its row even if it started in the previous part.
  bool begins() const { return part_begins_; }
  // A row of the current block; `new_row`: the table has no earlier entry of it.
  void add_row(uint64_t row_hash, bool new_row);
  void add_column(const ParsedKey& key) { columns_.add(key, rows_in_part_); }
  // Ends the current block; see TableIndexBuilder::add(). Takes some 50 us if it ends its part.
  void add_block(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                 const TimeBounds& bounds);
  // Call after the last block.
  void finish();

  // REQUIRES: finish() was called.
  const std::vector<std::string>& parts() const { return parts_; }
  // `stored_sizes`: sizes of the stored parts.
  std::string top_index(const std::vector<uint32_t>& stored_sizes);
  // Of the parts finished so far.
  size_t bytes() const { return bytes_; }

 private:
  bool is_full() const;
  void end_part();

  const size_t part_bytes_;
  const uint32_t filter_bits_;
  IndexPartitionBuilder part_;
  FilterBuilder rows_;
  ColumnKeys columns_;
  bool columns_pay_;  // in all parts so far
  uint64_t rows_in_part_ = 0;
  bool part_begins_ = true;
  TimeBounds bounds_;  // of the current part
  std::string before_;
  std::string first_;

  TableIndexBuilder top_index_;
  FilterBuilder sample_;
  uint32_t most_raw_bytes_ = 0;
  std::vector<std::string> parts_;
  size_t bytes_ = 0;
};

}  // namespace cellar::engine
