// BlobEnds: where the tables of one shard go when they have ended: a blob that was this tablet's
// alone to the shard's reaper, one that others may still name to shard 0, which counts.
#pragma once

#include "engine/blob_reaper.h"
#include "engine/manifest_client.h"
#include "engine/shared_blobs.h"
#include "io/runtime/mailbox.h"

namespace cellar::engine {

// One shard. All of it outlives every table of the shard.
class BlobEnds {
 public:
  BlobEnds(BlobReaper& reaper, SharedBlobs& shared, Mailbox& mailbox)
      : reaper_(reaper), shared_(shared), mailbox_(mailbox) {}

  // REQUIRES: see BlobReaper::remove().
  void remove(BlobId blob) { reaper_.remove(blob); }
  // REQUIRES: SharedBlobs counts this holder.
  void release_shared(BlobId blob) {
    if (mailbox_.self() == kHomeShard) return shared_.release(blob);
    mailbox_.post_on(kHomeShard, [&shared = shared_, blob] { shared.release(blob); });
  }

 private:
  BlobReaper& reaper_;
  SharedBlobs& shared_;
  Mailbox& mailbox_;
};

}  // namespace cellar::engine
