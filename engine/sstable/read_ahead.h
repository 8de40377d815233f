// Blocks that are loaded before they are needed: AheadLoad, contiguous blocks of one iterator;
// BlockPrefetch, distant blocks of a read of several ranges.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/sstable/table_reader.h"

namespace cellar::engine {

// AheadLoad: blocks of a table loaded ahead of an iterator that is still busy with earlier ones.
// One device read of contiguous blocks.
//
// The iterator may be destroyed at any time: the load then keeps the blob open, leaves its blocks
// to the cache, and ends by itself.
class AheadLoad final : private BlockWaiter {
 public:
  struct Leave {
    void operator()(AheadLoad* load) const { load->leave(); }
  };
  using Ptr = std::unique_ptr<AheadLoad, Leave>;

  // Starts reading `run`, whose first block is data block `first_block`.
  static Ptr start(TableReader& table, size_t first_block, std::span<const BlockHandle> run,
                   IoClass io_class, CacheUse use) {
    Ptr load(new AheadLoad(table.share_blob(), first_block, run.size()));
    table.loader().start(**load->blob_, run, io_class, use, load->pending_, *load);
    return load;
  }

  size_t first_block() const { return first_block_; }
  bool covers(size_t block) const { return block - first_block_ < blocks_; }
  bool done() const { return !pending_.under_way; }
  bool failed() const { return pending_.error.has_value(); }
  // `waiter` is called once, at the end. REQUIRES: !done(); one waiter only.
  void wait(BlockWaiter& waiter) { waiter_ = &waiter; }
  // The loaded blocks, in order from the first. REQUIRES: done().
  std::vector<BlockRef> take() { return std::move(pending_.blocks); }

 private:
  AheadLoad(CountedBlob::Ref blob, size_t first_block, size_t blocks)
      : blob_(std::move(blob)), first_block_(first_block), blocks_(blocks) {}
  ~AheadLoad() override = default;

  void leave() {
    waiter_ = nullptr;
    left_ = true;
    if (done()) delete this;
  }
  void block_done() override {
    if (left_) {
      delete this;
    } else if (waiter_ != nullptr) {
      std::exchange(waiter_, nullptr)->block_done();
    }
  }

  const CountedBlob::Ref blob_;
  const size_t first_block_;
  const size_t blocks_;
  PendingBlock pending_;
  BlockWaiter* waiter_ = nullptr;
  bool left_ = false;  // the iterator is gone
};

// BlockPrefetch: the next blocks of a read, and the index parts that name them, loaded together
// with the block it waits for, so that distant rows cost one round trip to the device instead of
// one each.
//
// Loaded blocks are held here until they are taken or dropped, whether or not the cache keeps them.
// A failed load is forgotten: the reader requests the block again and gets the error.
//
// Places are defined by the reader: blocks are added for its i-th range and dropped once it has
// passed that range.
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
