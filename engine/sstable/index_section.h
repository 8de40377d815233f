// The section of an index in a table: its entries in order, in blocks, under a tree of blocks.
//
//   leaf     a data block (data_block.h) of entries (engine/index)
//   node     a data block: last key below -> offset: varint, size: varint of a block below
//   root     the last block of the section; a leaf if it is the only one
//
// Blocks lie in the order in which they are finished, leaves and nodes mixed, without gaps.
// SectionWriter writes them, SectionIterator reads them through the shard's loader and cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/model/types.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/format.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

class SectionWriter {
 public:
  struct Options {
    BlobId blob;
    bool compress = true;
    uint32_t block_bytes = 4096;
  };
  // Appends to `out`, whose end is at `offset` of the blob; both must outlive it.
  SectionWriter(const Options& options, std::string& out, uint64_t& offset);

  // Keys strictly ascending.
  void add(Bytes key, Bytes value);
  // Writes the rest. Returns root, levels, offset, entries and checksum.
  IndexSection finish();

 private:
  static constexpr size_t kLeastNodeEntries = 4;

  // The open block of each level, leaves first.
  struct Level {
    BlockWriter block;
    std::string last_key;
    size_t blocks = 0;  // finished
  };
  void add_to(size_t level, Bytes key, Bytes value);
  BlockHandle cut(size_t level);

  const Options options_;
  std::string& out_;
  uint64_t& offset_;
  std::vector<Level> levels_;
  IndexSection section_;
};

// The entries of a section, in order.
//
// A move that misses a block keeps what it wants (`goal_`, `target_`) and begins again from the
// root when the block has come; blocks on the way are held until then.
// REQUIRES: the reader outlives it; not destroyed between the start of a request's load and its
// end.
class SectionIterator final : public EntryIterator, private BlockRequest {
 public:
  // Leaves loaded together by an iterator that walks, at most.
  static constexpr size_t kLeavesAtOnce = 8;

  // REQUIRES: the section has entries.
  SectionIterator(TableReader& table, const IndexSection& section);

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  Step next() override;
  Step resume() override;
  void collect(std::vector<BlockRequest*>& requests) override;
  Bytes key() const override { return levels_.back().cursor.key(); }
  Bytes value() const override { return levels_.back().cursor.value(); }
  const Error& error() const override { return *error_; }

 private:
  enum class Goal : uint8_t { at_or_after, before };
  enum class Found : uint8_t { block, absent, corrupt };
  // A block on the way from the root, the root first.
  struct Level {
    BlockHandle handle;
    BlockRef ref;
    BlockReader cursor;
  };

  void load(BlockWaiter& waiter) override;
  Step move();
  Step seek_forwards();
  Step seek_backwards();
  std::optional<Step> descend(size_t level, Bytes key);
  std::optional<Step> step_back(size_t level);
  std::optional<Step> open(size_t level, const BlockHandle& handle);
  std::optional<BlockHandle> child_of(size_t level) const;
  std::optional<BlockHandle> child_at(Bytes place, uint64_t parent_offset) const;
  void add_next_leaves(std::vector<BlockHandle>& run) const;
  BlockRef find(const BlockHandle& handle);
  Step damaged(size_t level);

  TableReader* table_;
  BlockHandle root_;
  uint64_t begin_;  // of the section
  std::vector<Level> levels_;
  Goal goal_ = Goal::at_or_after;
  std::string target_;
  bool walking_ = false;  // the wanted leaf follows the last one
  BlockHandle wanted_;    // the absent block
  size_t wanted_level_ = 0;
  PendingBlock pending_;
  std::vector<BlockRef> loaded_;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
