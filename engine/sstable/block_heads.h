// BlockHeads: what a search in a block touches first, kept with the block in memory: the heads
// (iter/key_head.h) of the keys at its restarts and where those are, side by side. So a point read
// comes from the block's header to the right restart without touching the block's end or the keys
// it only compares with, each of which would be a wait for memory. Made when the block is loaded;
// nothing of it is on disk, and a block without them is searched all the same.
//
// Heads are taken behind the bytes with which the keys of the first and the last restart begin
// alike. There is room for a few; where a block has more restarts, every stride-th has a head.
#pragma once

#include <array>
#include <cstdint>

#include "io/base/bytes.h"

namespace cellar::engine {

struct BlockHeads {
  static constexpr size_t kMost = 8;

  uint32_t count = 0;  // 0: there are none
  uint32_t stride = 1;
  uint32_t shared_bytes = 0;
  uint32_t restarts = 0;                  // of the block
  uint32_t entries_bytes = 0;             // which the restarts follow
  std::array<uint32_t, kMost> offsets{};  // of restarts 0, stride, 2 * stride, ...
  std::array<uint64_t, kMost> heads{};
};

// None when the contents are malformed: whoever reads them finds out.
BlockHeads make_block_heads(Bytes contents);

}  // namespace cellar::engine
