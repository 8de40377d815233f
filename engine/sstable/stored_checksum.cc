#include "engine/sstable/stored_checksum.h"

#include <algorithm>

#include "io/base/check.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

StoredChecksum::StoredChecksum(BlobId blob, const BlockHandle& handle)
    : blob_(blob),
      handle_(handle),
      left_(handle.size - sizeof(uint32_t)),
      crc_(crc_seed(blob.value(), handle.offset)) {
  CHECK(handle.size >= kBlockTrailerBytes, "a block of {} bytes", handle.size);
}

void StoredChecksum::add(Bytes piece) {
  const auto covered = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
  crc_ = crc32c(piece.substr(0, covered), crc_);
  left_ -= covered;
  for (const char c : piece.substr(covered)) {
    stored_ |= static_cast<uint32_t>(static_cast<uint8_t>(c)) << stored_bits_;
    stored_bits_ += 8;
  }
}

Result<void> StoredChecksum::check() const {
  CHECK(left_ == 0 && stored_bits_ == 32, "{} bytes of the block are missing", left_);
  if (stored_ == crc_) return {};
  return fail(Errc::data_loss, "the block of {} is damaged: its checksum is wrong",
              block_name(blob_, handle_.offset));
}

}  // namespace cellar::engine
