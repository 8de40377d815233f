// SharedBlobs: the blobs that more than one tablet names, or has named since the node started, and
// how many hold each; the last to let go removes it. A blob that only one tablet ever named is not
// here: its shard removes it by itself (blob_reaper.h).
//
// A holder is one TabletTable (tablet_table.h): a tablet's name for the blob in the manifest, and
// the versions and cursors that still read through it. A split or a move adds its new holders here
// when its edit has gone through, before any of them exists, and while the old one, which cannot
// let go before the reshape lets it, is still counted. So the count falls to nothing exactly when
// neither the manifest nor a reader names the blob.
//
// Lives on shard 0; other shards post to it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include "engine/files/blob_reaper.h"
#include "engine/model/types.h"

namespace cellar::engine {

class SharedBlobs {
 public:
  // The reaper is shard 0's and outlives it.
  explicit SharedBlobs(BlobReaper& reaper) : reaper_(reaper) {}

  // The start found so many names of it in the manifest.
  void found(BlobId blob, uint64_t names) { holders_[blob] = names; }
  // There will be so many holders more. One that is not known here yet has one until now.
  void add(BlobId blob, uint64_t holders);
  // A condemned holder has let go.
  void release(const EndedBlob& blob);
  uint64_t holders(BlobId blob) const;
  size_t size() const { return holders_.size(); }

 private:
  BlobReaper& reaper_;
  absl::flat_hash_map<BlobId, uint64_t> holders_;
};

}  // namespace cellar::engine
