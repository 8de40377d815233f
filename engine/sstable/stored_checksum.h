// StoredChecksum: verifies the checksum of one stored block of a table, of any type, from its bytes
// in pieces, so that a block need not be in memory as a whole.
#pragma once

#include <cstdint>

#include "engine/sstable/format.h"

namespace cellar::engine {

class StoredChecksum {
 public:
  // `handle.size` is that of the stored block, at least kBlockTrailerBytes.
  StoredChecksum(BlobId blob, const BlockHandle& handle);
  // The next bytes of the block.
  void add(Bytes piece);
  // REQUIRES: all bytes were added. DATA_LOSS with blob and offset if the checksum is wrong.
  Result<void> check() const;

 private:
  BlobId blob_;
  BlockHandle handle_;
  uint64_t left_;  // bytes that the checksum covers and that were not added yet
  uint32_t crc_;
  uint32_t stored_ = 0;  // the checksum in the block
  uint32_t stored_bits_ = 0;
};

}  // namespace cellar::engine
