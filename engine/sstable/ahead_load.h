// AheadLoad: blocks of a table on their way to an iterator that will come to them, while it is
// still busy with those before. One device read of blocks that lie back to back.
//
// The iterator may go away at any time: the load then keeps the blob open, leaves what it brings to
// the cache, and ends by itself.
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

  // Starts reading `run`, of which the first is data block `first_block`.
  static Ptr start(TableReader& table, size_t first_block, std::span<const BlockHandle> run,
                   IoClass io_class, CacheUse use) {
    Ptr load(new AheadLoad(table.share_blob(), first_block, run.size()));
    table.loader().start(**load->blob_, run, io_class, use, load->ticket_, *load);
    return load;
  }

  size_t first_block() const { return first_block_; }
  bool covers(size_t block) const { return block - first_block_ < blocks_; }
  bool done() const { return !ticket_.under_way; }
  bool failed() const { return ticket_.error.has_value(); }
  // Told once, when it is done. REQUIRES: !done(); nobody else waits.
  void wait(BlockWaiter& waiter) { waiter_ = &waiter; }
  // The blocks that came, from the first on. REQUIRES: done().
  std::vector<BlockRef> take() { return std::move(ticket_.blocks); }

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
  BlockTicket ticket_;
  BlockWaiter* waiter_ = nullptr;
  bool left_ = false;  // by its iterator
};

}  // namespace cellar::engine
