// PackedBlock: a data block that a cache keeps compressed: as it came from the device, or
// compressed anew with LZ4 when it was not asked for as much as it used to be. Half the bytes of a
// Block, and half a microsecond to make one of it.
//
// Its checksum was right when it came, and is not looked at again, no more than a Block's is: both
// trust memory. What does not unpack to the size that it should have is never served.
#pragma once

#include <memory>
#include <string>

#include "engine/sstable/block.h"
#include "engine/sstable/format.h"

namespace cellar::engine {

class PackedBlock final : public CacheEntry {
 public:
  // What is larger would hold a reader's loop for too long each time.
  static constexpr size_t kMostRawBytes = 64 * 1024;

  struct Free {
    void operator()(PackedBlock* block) const;
  };
  using Ptr = std::unique_ptr<PackedBlock, Free>;

  // A copy of `stored`, with all that unpack_block() wants of it; null when that is not LZ4's, or
  // too large: Zstandard's would take eight times as long at each find, and its table's dictionary.
  static Ptr keep(const BlockKey& key, const CheckedBlock& stored);
  // The contents of a block, compressed in some 3 us; null when that does not pay, or they are too
  // large. `scratch` is the caller's, so that its memory is used again.
  static Ptr pack(const BlockKey& key, Bytes contents, std::string& scratch);

  // In no cache; null when the bytes here are not what was put there.
  BlockRef unpack() const;
  // Of a Block with the contents.
  size_t raw_bytes() const { return stored_.raw_bytes; }
  size_t packed_bytes() const { return stored_.payload.size(); }

 private:
  PackedBlock(const BlockKey& key, const CheckedBlock& stored)
      : CacheEntry(key, true), stored_(stored) {}

  CheckedBlock stored_;  // its payload lies behind this object
};

}  // namespace cellar::engine
