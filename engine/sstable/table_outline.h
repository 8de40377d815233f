// TableOutline: the parts of a table's index (index_part.h): what each covers and where it lies.
// All that a table with parts keeps in memory while it is open, a hundredth of what its index and
// filters take; parts come through the cache, as data blocks do.
//
//   index size: varint, index   table_index.h, of parts in the place of blocks: the size of one is
//                               that of all its data blocks, its raw size is how many they are
//   raw size: varint            of the largest data block
//   sample size: varint, sample a filter (filter.h) over the rows that are sampled; may be empty
//   size: varint each           of the part, stored; parts lie back to back behind the data blocks
//
// The sample: whether a row known by its hash alone is in the table cannot be told from parts, for
// its hash does not say where in the order of keys it is. Those rows that come first in row_order()
// are known here: a kSampleShare-th of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sstable/block_cache.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/table_index.h"

namespace cellar::engine {

class TableOutline {
 public:
  static constexpr uint64_t kSampleShare = 256;
  // Of such a row the sample knows whether it is there.
  static bool is_sampled(uint64_t row_hash);

  // `parts` is the index that was opened from index_bytes(contents); parts end at `end`. False when
  // the bytes are no outline of it.
  bool open(Bytes contents, const TableIndex& parts, uint64_t end);
  // The bytes of the index of parts, and where data blocks end if parts end at `end`; nothing when
  // the bytes are no outline.
  struct Inner {
    Bytes index;
    uint64_t data_end;
  };
  static std::optional<Inner> inner(Bytes contents, uint64_t end);

  size_t parts() const { return places_.size(); }
  size_t blocks() const { return blocks_; }  // of all parts
  // REQUIRES: part < parts().
  BlockHandle handle(size_t part) const { return {places_[part].offset, places_[part].size}; }
  size_t first_block(size_t part) const { return places_[part].first_block; }
  // The part that names the data block. REQUIRES: block < blocks().
  size_t part_of(size_t block) const;
  BlockSlot& slot(size_t part) { return slots_[part]; }
  uint32_t most_raw_bytes() const { return most_raw_bytes_; }
  // False only when the row is sampled and not there.
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

}  // namespace cellar::engine
