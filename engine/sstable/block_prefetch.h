// BlockPrefetch: the blocks that one read will come to next, and the parts of an index that name
// them, loaded together with the block it waits for, so that rows which lie far apart cost one
// round trip to the device and not one each.
//
// What has come is held here until it is taken or dropped, whether or not the cache keeps it. A
// load that fails is forgotten: whoever comes to the block asks for it again and is told why.
//
// Places are the reader's: blocks are added for the i-th of its ranges, and dropped once it has
// passed that.
#pragma once

#include <memory>
#include <vector>

#include "engine/sstable/table_reader.h"

namespace cellar::engine {

// One shard. Not destroyed, nor added to, while what collect() named is under way.
class BlockPrefetch {
 public:
  static constexpr size_t kMaxBlocks = 64;
  static constexpr size_t kMaxBytes = 256 * 1024;  // of what is held, unpacked

  BlockPrefetch() = default;
  BlockPrefetch(const BlockPrefetch&) = delete;
  BlockPrefetch& operator=(const BlockPrefetch&) = delete;

  // Some block found no room, since drop_before().
  bool full() const { return full_; }
  // What lies there in the table, of `raw_bytes` unpacked, for the range at `place`: unless it is
  // in memory, or here already, or there is no room. The table outlives this.
  void add(TableReader& table, const BlockHandle& handle, uint32_t raw_bytes, size_t place);
  // Appends what was added since the last call, to be loaded.
  void collect(std::vector<BlockWant*>& wants);
  // Lets go of what was added for places before this one.
  void drop_before(size_t place);
  // The block at that place of the table, which is then no longer held; null when it is not here.
  BlockRef take(const TableReader& table, uint64_t offset);
  // The same, and it is still held.
  BlockRef peek(const TableReader& table, uint64_t offset) const;

 private:
  struct Held final : BlockWant {
    Held(TableReader& table, const BlockHandle& handle, uint32_t raw_bytes, size_t place)
        : table(&table), handle(handle), raw_bytes(raw_bytes), place(place) {}
    void load(BlockWaiter& waiter) override;

    TableReader* table;
    BlockHandle handle;
    uint32_t raw_bytes;
    size_t place;
    BlockTicket ticket;
  };

  Held* find(const TableReader& table, uint64_t offset) const;

  std::vector<std::unique_ptr<Held>> blocks_;
  size_t collected_ = 0;  // of blocks_, from the front
  size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace cellar::engine
