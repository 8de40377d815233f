// AheadLoad: blocks of a table loaded ahead of an iterator that is still busy with earlier ones.
// One device read of contiguous blocks.
//
// The iterator may be destroyed at any time: the load then keeps the blob open, leaves its blocks
// to the cache, and ends by itself.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/sstable/table_reader.h"

namespace cellar::engine {

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

}  // namespace cellar::engine
