// TableIndex: the positions of a table's data blocks; one level, completely in memory.
//
// Block i has the entries from its separator on, up to the next block's. A separator is the
// shortest prefix of the block's first key that is greater than the last key before it, and empty
// for block 0; a search for a row's first entry therefore never reads the previous block in vain.
//
//   count: varint, then per block
//   shared: varint, unshared: bytes   the separator; `shared` bytes come from the previous one
//   size: varint                      stored, including the trailer; blocks are contiguous
//   raw size: varint                  uncompressed
//   bounds                            see "Time bounds"
//
// The first block starts at kTableHeaderBytes.
#pragma once

#include <string>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/sstable/format.h"

namespace cellar::engine {

class TableIndexBuilder {
 public:
  // Add blocks in order. `before` is the last key of the previous block (empty for the first),
  // `first` the block's first key.
  void add(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
           const TimeBounds& bounds);
  size_t blocks() const { return count_; }
  std::string finish() const;
  // The same in pieces: head(), then pieces(); this many bytes in total.
  std::string head() const;
  const std::vector<std::string>& pieces() const { return pieces_; }
  size_t bytes() const { return head().size() + entry_bytes_; }

 private:
  static constexpr size_t kPieceBytes = 64 * 1024;

  // whole entries each, because one growing string would be copied
  std::vector<std::string> pieces_;
  size_t entry_bytes_ = 0;
  std::string last_separator_;
  size_t count_ = 0;
};

class TableIndex {
 public:
  // False if the bytes are not an index, or refer to bytes at or past `data_end`.
  bool open(Bytes contents, uint64_t data_end);
  // For a table whose index is lost: one empty block that covers every key and cannot be loaded.
  void open_lost();

  size_t blocks() const { return blocks_.size(); }
  // The block of the first entry >= key, unless that is the first entry of the next block. 0 if
  // there are no blocks.
  size_t find(Bytes key) const;
  // A find() of the key follows soon: loads what it reads into the processor's cache.
  void expect(Bytes key) const;
  // The same for the last entry < key: it is in this block or at the end of the previous one.
  size_t find_before(Bytes key) const;
  Bytes separator(size_t i) const {
    return {texts_.data() + blocks_[i].key_offset, blocks_[i].key_bytes};
  }
  BlockHandle handle(size_t i) const { return {blocks_[i].offset, blocks_[i].size}; }
  void expect_handle(size_t i) const { __builtin_prefetch(&blocks_[i]); }
  uint32_t raw_bytes(size_t i) const { return blocks_[i].raw_bytes; }
  // Decoded from the stored form in some 10 ns.
  TimeBounds bounds(size_t i) const;
  // Of the largest block; 0 if there are none.
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

  // Heads between two entries of tops_: as many as a few cache lines hold.
  static constexpr size_t kHeadsATop = 64;

  bool add_heads(size_t most);
  std::pair<size_t, size_t> group_of(uint64_t head) const;
  // The last block for which before(separator, key) holds; 0 if there is none.
  template <class Before>
  size_t last_block(Bytes key, Before before) const;

  std::vector<Block> blocks_;
  // The search data: heads (key_head.h) of the separators of blocks 1 and up, after their common
  // prefix. heads_[0] is unused.
  std::vector<uint64_t> heads_;
  // Every kHeadsATop-th of heads_, from heads_[kHeadsATop] on. Of a large index these stay in the
  // processor's cache, and a search leaves it for the heads between two of them, and for those that
  // equal the key's.
  std::vector<uint64_t> tops_;
  size_t shared_bytes_ = 0;
  // Per block the separator, followed by the bounds in stored form: some 13 bytes instead of 64,
  // and a read without a time range does not use them.
  std::string texts_;
  uint32_t most_raw_bytes_ = 0;
};

// TableIndex::open() in steps, because a large table has a hundred thousand blocks.
class TableIndexOpener {
 public:
  // `index` is empty; it and `contents` must outlive this.
  TableIndexOpener(TableIndex& index, Bytes contents, uint64_t data_end);
  // True when done; takes some 30 us.
  bool step();
  // REQUIRES: step() returned true.
  bool ok() const { return !bad_; }

 private:
  static constexpr size_t kBlocksAStep = 256;
  // Extra memory of complete separators, relative to the contents: one in this many. Unused memory
  // is never touched.
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
