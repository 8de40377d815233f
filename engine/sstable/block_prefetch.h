// BlockPrefetch: the next blocks of a read, and the index parts that name them, loaded together
// with the block it waits for, so that distant rows cost one round trip to the device instead of
// one each.
//
// Loaded blocks are held here until they are taken or dropped, whether or not the cache keeps them.
// A failed load is forgotten: the reader requests the block again and gets the error.
//
// Places are defined by the reader: blocks are added for its i-th range and dropped once it has
// passed that range.
#pragma once

#include <memory>
#include <vector>

#include "engine/sstable/table_reader.h"

namespace cellar::engine {

// One shard. Must not be destroyed or extended while loads from collect() are in progress.
class BlockPrefetch {
 public:
  static constexpr size_t kMaxBlocks = 64;
  static constexpr size_t kMaxBytes = 256 * 1024;  // unpacked bytes held

  BlockPrefetch() = default;
  BlockPrefetch(const BlockPrefetch&) = delete;
  BlockPrefetch& operator=(const BlockPrefetch&) = delete;

  // Some block did not fit since drop_before().
  bool full() const { return full_; }
  // Adds the block at that place of the table, of `raw_bytes` unpacked, for the range at `place`,
  // unless it is in memory or already added, or there is no room. The table must outlive this.
  void add(TableReader& table, const BlockHandle& handle, uint32_t raw_bytes, size_t place);
  // Appends the blocks added since the last call, to be loaded.
  void collect(std::vector<BlockRequest*>& requests);
  // Drops the blocks of earlier places.
  void drop_before(size_t place);
  // Removes and returns the block at that offset of the table; null if it is not here.
  BlockRef take(const TableReader& table, uint64_t offset);
  // The same, but keeps the block.
  BlockRef peek(const TableReader& table, uint64_t offset) const;

 private:
  struct Held final : BlockRequest {
    Held(TableReader& table, const BlockHandle& handle, uint32_t raw_bytes, size_t place)
        : table(&table), handle(handle), raw_bytes(raw_bytes), place(place) {}
    void load(BlockWaiter& waiter) override;

    TableReader* table;
    BlockHandle handle;
    uint32_t raw_bytes;
    size_t place;
    PendingBlock pending;
  };

  Held* find(const TableReader& table, uint64_t offset) const;

  std::vector<std::unique_ptr<Held>> blocks_;
  size_t collected_ = 0;  // of blocks_, from the front
  size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace cellar::engine
