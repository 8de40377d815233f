// BlockPool: blocks of 256 KiB for the arenas of one shard, which are used again.
//
// They are cut from chunks (huge_chunks.h). The entries of a memtable are read and written at
// random places; with pages of 4 KiB much of that time goes into looking up pages, and each
// memtable would have its pages mapped again. A block that is given back stays resident, "idle",
// until it is taken again or trimmed.
//
//   take()   chunk 1 [used idle idle idle idle idle idle idle]
//   take()   chunk 1 [used used idle idle idle idle idle idle]
//   give()   chunk 1 [used idle idle idle idle idle idle idle]
//   trim()   chunk 1 [used cold idle idle idle idle idle idle]
//
// Invariants
//   1. A block is used, idle, or cold: not resident. idle_bytes() counts those that are idle.
//   2. A chunk without a used block has no cold one. trim() unmaps it as a whole.
//   3. take() prefers idle blocks, and those of chunks that have used ones, so that other chunks
//      become free.
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

  size_t used_bytes() const { return used_ * kBlockBytes; }
  size_t idle_bytes() const { return idle_ * kBlockBytes; }

  // It has a chunk's blocks more than were in use at any time since the last age() but one. Call
  // age() every kAgeUs while there are idle blocks.
  static constexpr int64_t kAgeUs = 60'000'000;
  void age();
  bool has_surplus() const {
    return idle_ > 0 && used_ + idle_ >= std::max(most_used_, most_used_before_) + kChunkBlocks;
  }
  // Returns an idle block, or a chunk of idle ones, to the system, in some 100 us. REQUIRES: there
  // is an idle block.
  void trim();

 private:
  enum class State : uint8_t { idle, cold, used };
  using Hook =
      boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  struct Chunk : Hook {
    HugeChunks::Chunk memory;
    std::array<State, kChunkBlocks> blocks{};
    size_t idle = kChunkBlocks;
    size_t used = 0;
  };
  using List = boost::intrusive::list<Chunk, boost::intrusive::constant_time_size<false>>;

  bool add_chunk();
  // Into the list where it belongs.
  void place(Chunk& chunk);
  void unmap(Chunk& chunk);
  static size_t find(const Chunk& chunk, State state);

  HugeChunks* chunks_;
  // By address. A chunk is in one list, or in none if all of its blocks are used.
  std::unordered_map<uintptr_t, std::unique_ptr<Chunk>> by_address_;
  List with_idle_;  // those without a used block are last
  List with_cold_;  // and no idle block
  size_t used_ = 0;
  size_t idle_ = 0;
  size_t most_used_ = 0;         // since the last age()
  size_t most_used_before_ = 0;  // since the one before, until the last
};

}  // namespace cellar
