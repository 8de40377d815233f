// IndexPart: a part of a table's index in a cached block: the positions of some hundred
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
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"

namespace cellar::engine {

class IndexPart {
 public:
  IndexPart() = default;
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
  // The same for a key of the column filter (row_probe.h); true if there is no such filter.
  bool may_contain_key(uint64_t hash) const {
    return column_filter_.empty() || filter_may_contain(column_filter_, hash);
  }

 private:
  friend class IndexPartBuilder;
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
class IndexPartBuilder {
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

}  // namespace cellar::engine
