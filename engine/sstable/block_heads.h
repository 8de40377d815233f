// BlockHeads: what a search in a block touches first, kept with the block in memory: heads of its
// entries' keys and where those entries are, side by side. So a point read comes from the block's
// header to its entry without touching the block's end or the entries before it, each of which
// would be a wait for memory. Made when a point read finds a block cached for the first time;
// nothing of it is on disk, and a block without them is searched all the same.
//
// A head is the four bytes behind those with which all keys of the block begin (`shared_bytes`), as
// a number in the keys' order, padded with zeros. Only of entries that take no more bytes than that
// from the key before them: who knows such an entry's head knows its key. The others have the head
// of their predecessor. There is room for a few; of more entries every so-manieth has its head
// here, and a search walks from there.
#pragma once

#include <array>
#include <cstdint>

#include "engine/iter/key_head.h"
#include "io/base/bytes.h"

namespace cellar::engine {

struct BlockHeads {
  static constexpr size_t kMost = 32;
  static constexpr size_t kHeadBytes = 4;
  // Of the entries of a block that may have heads: where one begins is kept in so many bits.
  static constexpr size_t kMostEntriesBytes = 1u << 16;

  static uint32_t head_of(Bytes tail) { return static_cast<uint32_t>(key_head(tail) >> 32); }
  // How many of them are less.
  size_t less_than(uint32_t head) const {
    uint32_t less = 0;
    for (const uint32_t one : heads) less += one < head;
    return less;
  }

  uint32_t entries_bytes = 0;  // which the restarts follow
  uint32_t shared_bytes = 0;
  uint32_t restarts = 0;                // of the block
  uint8_t count = 0;                    // 0: there are none
  bool made = false;                    // it was looked whether there are any
  bool all = false;                     // every entry that may have a head has it here
  std::array<uint32_t, kMost> heads{};  // greatest numbers behind `count`
  std::array<uint16_t, kMost> offsets{};
};

// None when the contents are malformed (whoever reads them finds out) or too long.
BlockHeads make_block_heads(Bytes contents);

}  // namespace cellar::engine
