// BlobEnds: where the tables of one shard go when they have ended: a blob that was this tablet's
// alone to the shard's reaper, one that others may still name to shard 0, which counts. It also
// knows those that are condemned and still held, by cursors: their bytes are pinned.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "engine/files/blob_reaper.h"
#include "engine/files/manifest_client.h"
#include "engine/files/shared_blobs.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

class TabletTable;

// One shard. All of it outlives every table of the shard.
class BlobEnds {
 public:
  BlobEnds(BlobReaper& reaper, SharedBlobs& shared, Mailbox& mailbox)
      : reaper_(reaper), shared_(shared), mailbox_(mailbox) {}

  // REQUIRES: see BlobReaper::remove().
  void remove(const EndedBlob& blob) { reaper_.remove(blob); }
  // REQUIRES: SharedBlobs counts this holder.
  void release_shared(const EndedBlob& blob) {
    if (mailbox_.self() == kHomeShard) return shared_.release(blob);
    mailbox_.post_on(kHomeShard, [&shared = shared_, blob] { shared.release(blob); });
  }

  // `who` is condemned, and later gone.
  void condemned(const TabletTable& who, const EndedBlob& blob) { pinned_[&who] = blob; }
  void gone(const TabletTable& who) { pinned_.erase(&who); }
  const absl::flat_hash_map<const TabletTable*, EndedBlob>& pinned() const { return pinned_; }

 private:
  absl::flat_hash_map<const TabletTable*, EndedBlob> pinned_;
  BlobReaper& reaper_;
  SharedBlobs& shared_;
  Mailbox& mailbox_;
};

}  // namespace cellar::engine
