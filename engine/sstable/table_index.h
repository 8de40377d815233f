// TableIndex: where a table's data blocks are; one level, whole in memory.
//
// Block i holds the entries from its separator on, up to the next block's. A separator is the
// shortest head of the block's first key that is greater than the last key before it, and empty
// for block 0; so a row's first entry is never looked for in the block before it in vain.
//
//   count: varint, then per block
//   shared: varint, unshared: bytes   the separator; `shared` bytes come from the one before
//   size: varint                      stored, trailer included; blocks lie back to back
//   raw size: varint                  after decompression
//   bounds                            see "Time bounds"
// The first block begins at kTableHeaderBytes.
#pragma once

#include <string>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/sstable/format.h"

namespace cellar::engine {

class TableIndexBuilder {
 public:
  // Blocks in order. `before` is the last key of the block before (empty for the first), `first`
  // the block's first key.
  void add(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
           const TimeBounds& bounds);
  size_t blocks() const { return count_; }
  std::string finish() const;
  // The same in pieces: head() and then pieces(); so many bytes in all.
  std::string head() const;
  const std::vector<std::string>& pieces() const { return pieces_; }
  size_t bytes() const { return head().size() + entry_bytes_; }

 private:
  static constexpr size_t kPieceBytes = 64 * 1024;

  std::vector<std::string> pieces_;  // of whole entries: a string would be copied as it grows
  size_t entry_bytes_ = 0;
  std::string last_separator_;
  size_t count_ = 0;
};

class TableIndex {
 public:
  // False when the bytes are no index, or name bytes at or past `data_end`.
  bool open(Bytes contents, uint64_t data_end);
  // Of a table whose index is lost: one block of no size with every key in it, which none can load.
  void open_lost();

  size_t blocks() const { return blocks_.size(); }
  // The block in which the first entry >= key lies, if not at the beginning of the next one.
  // 0 when there are no blocks.
  size_t find(Bytes key) const;
  // The same for the last entry < key: it lies in the block answered, or at the end of the one
  // before.
  size_t find_before(Bytes key) const;
  Bytes separator(size_t i) const {
    return {texts_.data() + blocks_[i].key_offset, blocks_[i].key_bytes};
  }
  BlockHandle handle(size_t i) const { return {blocks_[i].offset, blocks_[i].size}; }
  uint32_t raw_bytes(size_t i) const { return blocks_[i].raw_bytes; }
  // Unpacked from what it is in the file, some 10 ns.
  TimeBounds bounds(size_t i) const;
  // Of the largest block, unpacked; 0 when there are none.
  uint32_t most_raw_bytes() const { return most_raw_bytes_; }
  size_t memory_bytes() const;

 private:
  struct Block {
    uint64_t offset;
    uint32_t size;
    uint32_t raw_bytes;
    uint32_t key_offset;
    uint32_t key_bytes;
  };
  friend class TableIndexOpener;
  static constexpr size_t kLeastEntryBytes = 4;

  bool add_heads(size_t most);
  // The last block for which before(separator, key) holds; 0 when none.
  template <class Before>
  size_t last_block(Bytes key, Before before) const;

  std::vector<Block> blocks_;
  // What a search touches, side by side: heads (key_head.h) of the separators of blocks 1 and on,
  // taken behind the bytes with which all of those begin. heads_[0] stands for nothing.
  std::vector<uint64_t> heads_;
  size_t shared_bytes_ = 0;
  // Of each block the separator, and behind it the bounds as they are in the file: 13 bytes or so
  // instead of 64, and a read that wants all times does not look at them.
  std::string texts_;
  uint32_t most_raw_bytes_ = 0;
};

// TableIndex::open() in steps: a large table has a hundred thousand blocks.
class TableIndexOpener {
 public:
  // `index` is empty and outlives this, as `contents` do.
  TableIndexOpener(TableIndex& index, Bytes contents, uint64_t data_end);
  // True when it is done; some 30 us.
  bool step();
  // REQUIRES: step() was true.
  bool ok() const { return !bad_; }

 private:
  static constexpr size_t kBlocksAStep = 256;
  // What separators take more when they are whole, of the contents' size: one in this. What is not
  // needed of it is never touched.
  static constexpr size_t kSpareShare = 4;

  bool add_block();

  TableIndex& index_;
  Reader in_;
  const uint64_t data_end_;
  const uint64_t count_;
  uint64_t offset_ = kTableHeaderBytes;
  std::string separator_;
  bool bad_ = false;
};

}  // namespace cellar::engine
