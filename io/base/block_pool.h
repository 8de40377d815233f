// BlockPool: blocks of 256 KiB for the arenas of one shard, which are used again.
//
// They are cut from chunks (huge_chunks.h). The entries of a memtable are read and written at
// random places; with pages of 4 KiB much of that time goes into looking up pages, and each
// memtable would have its pages mapped again. A block that is given back stays resident, "idle",
// until it is taken again or its chunk is trimmed.
//
//   take()   chunk 1 [used idle idle idle idle idle idle idle]
//   take()   chunk 1 [used used idle idle idle idle idle idle]
//   give()   chunk 1 [used idle idle idle idle idle idle idle]
//   give()   chunk 1 [idle idle idle idle idle idle idle idle]
//   trim()   no chunk
//
// A part of a chunk is never returned to the system: it would not free a part of a huge page, and
// the system may map the rest again.
//
// Invariants
//   1. A block is used or idle. All blocks are resident.
//   2. take() prefers the chunk with the fewest idle blocks, so that others become free.
//
// One shard.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include <boost/intrusive/list.hpp>

#include "io/base/huge_chunks.h"

namespace cellar {

class BlockPool {
 public:
  static constexpr size_t kBlockBytes = 256 * 1024;
  static constexpr size_t kChunkBlocks = HugeChunks::kChunkBytes / kBlockBytes;

  // `chunks`: outlives it; null: it has no blocks.
  explicit BlockPool(HugeChunks* chunks = nullptr) : chunks_(chunks) {}
  // REQUIRES: no block is used.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // kBlockBytes, not initialised. Null: it has none at present, take memory from the heap.
  char* take();
  void give(char* block);
  // Whether take() may add a chunk. True at the beginning.
  void set_may_grow(bool may_grow) { may_grow_ = may_grow; }

  size_t used_bytes() const { return used_ * kBlockBytes; }
  size_t idle_bytes() const { return idle_ * kBlockBytes; }
  // Of chunks without a used block; a part of idle_bytes().
  size_t free_bytes() const { return free_chunks_ * HugeChunks::kChunkBytes; }

  // It has a free chunk more than was in use at any time since the last age() but one. Call age()
  // at intervals while there are free chunks.
  void age();
  bool has_surplus() const {
    return free_chunks_ > 0 &&
           used_ + idle_ >= std::max(most_used_, most_used_before_) + kChunkBlocks;
  }
  // Returns a free chunk to the system, in some 100 us. REQUIRES: free_bytes() > 0.
  void trim();

 private:
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  struct Chunk : Hook {
    HugeChunks::Chunk memory;
    std::array<bool, kChunkBlocks> used{};
    size_t idle = kChunkBlocks;
  };
  using List = boost::intrusive::list<Chunk, boost::intrusive::constant_time_size<false>>;

  bool add_chunk();
  // Changes the number of its idle blocks, and with it its list.
  void set_idle(Chunk& chunk, size_t idle);

  HugeChunks* chunks_;
  bool may_grow_ = true;
  std::unordered_map<uintptr_t, std::unique_ptr<Chunk>> by_address_;
  std::array<List, kChunkBlocks + 1> by_idle_;  // by the number of their idle blocks
  size_t used_ = 0;
  size_t idle_ = 0;
  size_t free_chunks_ = 0;
  size_t most_used_ = 0;         // since the last age()
  size_t most_used_before_ = 0;  // since the one before, until the last
};

}  // namespace cellar
