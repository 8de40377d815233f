// BlockHeads: a search accelerator kept with a block in memory: heads of its entries' keys and the
// entries' positions, side by side. A point read goes from the block's header to its entry without
// reading the block's end or earlier entries, each of which would be a cache miss. Made when a
// point read first finds the block cached; nothing of it is on disk, and a block without heads can
// be searched too.
//
// A head is the four bytes after the common prefix of all keys of the block (`shared_bytes`), as a
// number in key order, padded with zeros. Only entries that take no more than the common prefix
// from the key before them have one, so that the head determines the key's order; other entries
// have the head of their predecessor. There is room for a few heads; of more entries an even sample
// has one, and a search walks from there.
#pragma once

#include <array>
#include <cstdint>

#include "engine/iter/key_head.h"
#include "io/base/bytes.h"

namespace cellar::engine {

struct BlockHeads {
  static constexpr size_t kMost = 32;
  static constexpr size_t kHeadBytes = 4;
  // Entries of larger blocks have no heads, because positions are stored in 16 bits.
  static constexpr size_t kMostEntriesBytes = 1u << 16;

  static uint32_t head_of(Bytes tail) { return static_cast<uint32_t>(key_head(tail) >> 32); }
  // The number of heads that are less.
  size_t less_than(uint32_t head) const {
    uint32_t less = 0;
    for (const uint32_t one : heads) less += one < head;
    return less;
  }

  uint32_t entries_bytes = 0;  // size of the entries; the restarts follow
  uint32_t shared_bytes = 0;
  uint32_t restarts = 0;                // number of restarts in the block
  uint8_t count = 0;                    // 0: no heads
  bool made = false;                    // an attempt to make heads was made
  bool all = false;                     // every entry that may have a head has one
  std::array<uint32_t, kMost> heads{};  // maximum values after `count`
  std::array<uint16_t, kMost> offsets{};
};

// Empty if the contents are malformed (readers detect that) or too long.
BlockHeads make_block_heads(Bytes contents);

}  // namespace cellar::engine
