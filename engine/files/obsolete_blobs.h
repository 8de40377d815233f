// ObsoleteBlobDeleter: removes the blobs that nobody names or reads any more, in the background of
// its shard, kAtOnce at a time, so that the store knows how much waits and paces itself by that.
// What it does not get to, because the process ends or the disk refuses, is an orphan and goes at
// the next start.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <deque>
#include <optional>
#include <vector>

#include "engine/files/manifest_client.h"
#include "engine/model/types.h"
#include "engine/store/blob_store.h"
#include "io/loop/event.h"
#include "io/loop/mailbox.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// A blob that no manifest entry of its tablet names any more, and whose it was; what is not known
// of it is 0.
struct ObsoleteBlob {
  ObsoleteBlob() = default;
  ObsoleteBlob(BlobId blob)
      : id(blob) {}  // NOLINT(google-explicit-constructor): all that some know
  BlobId id;
  TableId table;
  TabletId tablet;
  uint64_t bytes = 0;
  int64_t since_us = 0;  // trusted
};

// One that could not be removed, and why.
struct KeptBlob {
  ObsoleteBlob blob;
  Error error;
};

// One shard. Must outlive every Version (version.h) of the shard.
class ObsoleteBlobDeleter {
 public:
  // So many of those that could not be removed are remembered.
  static constexpr size_t kMostKept = 1000;
  static constexpr size_t kAtOnce = 8;

  ObsoleteBlobDeleter(const Runtime& runtime, BlobStore& store)
      : runtime_(runtime), store_(store) {}

  // REQUIRES: no object reads the blob, and the manifest does not name it.
  void remove(ObsoleteBlob blob);
  // From now on blobs of `only` stay, or all without it, for a backup that reads them; what comes
  // to be removed meanwhile waits for release(). May be said again, with others.
  void hold(const std::optional<std::vector<BlobId>>& only);
  void release();
  // Resumes when nothing is left to remove that is not held.
  Async<void> drain();
  // Those that wait for release(), and those that stay until the next start.
  const std::vector<ObsoleteBlob>& held() const { return held_; }
  const std::vector<KeptBlob>& kept() const { return kept_; }

 private:
  Async<void> run();
  bool is_held(BlobId id) const { return holding_ && (!only_ || only_->contains(id)); }
  void remove_held();

  Runtime runtime_;
  BlobStore& store_;
  std::deque<ObsoleteBlob> queue_;
  size_t running_ = 0;
  bool holding_ = false;
  std::optional<absl::flat_hash_set<BlobId>> only_;  // while holding
  std::vector<ObsoleteBlob> held_;                   // to be removed when they are not
  std::vector<KeptBlob> kept_;
  ConditionVariable idle_;
};

// BlobRefCounts: the blobs that more than one tablet names, or has named since the node started,
// and how many hold each; the last to let go removes it. A blob that only one tablet ever named is
// not here: its shard removes it by itself (obsolete_blobs.h).
//
// A holder is one TabletTable (tablet_table.h): a tablet's name for the blob in the manifest, and
// the versions and cursors that still read through it. A split or a move adds its new holders here
// when its edit has gone through, before any of them exists, and while the old one, which cannot
// let go before the reshape lets it, is still counted. So the count falls to nothing exactly when
// neither the manifest nor a reader names the blob.
//
// Lives on shard 0; other shards post to it.
class BlobRefCounts {
 public:
  // The reaper is shard 0's and outlives it.
  explicit BlobRefCounts(ObsoleteBlobDeleter& reaper) : reaper_(reaper) {}

  // The start found so many names of it in the manifest.
  void found(BlobId blob, uint64_t names) { holders_[blob] = names; }
  // There will be so many holders more. One that is not known here yet has one until now.
  void add(BlobId blob, uint64_t holders);
  // A condemned holder has let go.
  void release(const ObsoleteBlob& blob);
  uint64_t holders(BlobId blob) const;
  size_t size() const { return holders_.size(); }

 private:
  ObsoleteBlobDeleter& reaper_;
  absl::flat_hash_map<BlobId, uint64_t> holders_;
};

// ObsoleteBlobs: where the tables of one shard go when they have ended: a blob that was this
// tablet's alone to the shard's reaper, one that others may still name to shard 0, which counts. It
// also knows those that are condemned and still held, by cursors: their bytes are pinned.

class TabletTable;

// One shard. All of it outlives every table of the shard.
class ObsoleteBlobs {
 public:
  ObsoleteBlobs(ObsoleteBlobDeleter& reaper, BlobRefCounts& shared, Mailbox& mailbox)
      : reaper_(reaper), shared_(shared), mailbox_(mailbox) {}

  // REQUIRES: see ObsoleteBlobDeleter::remove().
  void remove(const ObsoleteBlob& blob) { reaper_.remove(blob); }
  // REQUIRES: BlobRefCounts counts this holder.
  void release_shared(const ObsoleteBlob& blob) {
    if (mailbox_.self() == kHomeShard) return shared_.release(blob);
    mailbox_.post_on(kHomeShard, [&shared = shared_, blob] { shared.release(blob); });
  }

  // `who` is condemned, and later gone.
  void obsolete(const TabletTable& who, const ObsoleteBlob& blob) { pinned_[&who] = blob; }
  void gone(const TabletTable& who) { pinned_.erase(&who); }
  const absl::flat_hash_map<const TabletTable*, ObsoleteBlob>& pinned() const { return pinned_; }

 private:
  absl::flat_hash_map<const TabletTable*, ObsoleteBlob> pinned_;
  ObsoleteBlobDeleter& reaper_;
  BlobRefCounts& shared_;
  Mailbox& mailbox_;
};

}  // namespace cellar::engine
