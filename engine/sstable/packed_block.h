// PackedBlock: a data block kept compressed in the cache: as stored on the device, or compressed
// with LZ4 when its requests became fewer. It takes half the bytes of a Block and half a
// microsecond to unpack.
//
// Its checksum was verified when it was loaded and is not checked again, as for a Block: both trust
// memory. A block that does not unpack to the expected size is never returned.
#pragma once

#include <memory>
#include <string>

#include "engine/sstable/block.h"
#include "engine/sstable/format.h"

namespace cellar::engine {

class PackedBlock final : public CacheEntry {
 public:
  // Unpacking a larger block would block a reader's loop for too long.
  static constexpr size_t kMostRawBytes = 64 * 1024;

  struct Free {
    void operator()(PackedBlock* block) const;
  };
  using Ptr = std::unique_ptr<PackedBlock, Free>;

  // Copies `stored` with everything unpack_block() needs. Null if it is not LZ4 or is too large:
  // Zstandard would take eight times as long per hit and need its table's dictionary.
  static Ptr keep(const BlockKey& key, const CheckedBlock& stored);
  // Compresses the contents of a block in some 3 us. Null if that does not pay or they are too
  // large. `scratch` is reused memory of the caller.
  static Ptr pack(const BlockKey& key, Bytes contents, std::string& scratch);

  // The block is not in a cache; null if the bytes are corrupt.
  BlockRef unpack() const;
  // Of the unpacked contents.
  size_t raw_bytes() const { return stored_.raw_bytes; }
  size_t packed_bytes() const { return stored_.payload.size(); }

 private:
  PackedBlock(const BlockKey& key, const CheckedBlock& stored)
      : CacheEntry(key, true), stored_(stored) {}

  CheckedBlock stored_;  // its payload follows this object
};

}  // namespace cellar::engine
