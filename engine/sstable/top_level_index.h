// TopLevelIndex: the top level of an index in parts (index_part.h): range and position of each
// part. It is all that an open table with parts keeps in memory, a hundredth of its index and
// filters; parts come through the cache like data blocks.
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
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sstable/block_cache.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/table_index.h"

namespace cellar::engine {

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

}  // namespace cellar::engine
