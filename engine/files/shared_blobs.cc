#include "engine/files/shared_blobs.h"

#include "io/base/check.h"

namespace cellar::engine {

void SharedBlobs::add(BlobId blob, uint64_t holders) {
  const auto [it, added] = holders_.try_emplace(blob, 1);
  it->second += holders;
}

void SharedBlobs::release(const EndedBlob& blob) {
  const auto it = holders_.find(blob.id);
  CHECK(it != holders_.end(), "blob {:016x} was released more often than held", blob.id.value());
  if (--it->second != 0) return;
  holders_.erase(it);
  reaper_.remove(blob);
}

uint64_t SharedBlobs::holders(BlobId blob) const {
  const auto it = holders_.find(blob);
  return it == holders_.end() ? 0 : it->second;
}

}  // namespace cellar::engine
