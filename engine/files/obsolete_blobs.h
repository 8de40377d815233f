// ObsoleteBlobDeleter: removes blobs that are neither named nor read, in the background of its
// shard, kAtOnce at a time, so that the store knows the backlog and paces itself. Blobs left
// because the process ends or the disk fails are orphans, which the next start removes.
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

// A blob that no manifest entry of its tablet names any more, with its owner; unknown fields are 0.
struct ObsoleteBlob {
  ObsoleteBlob() = default;
  // Implicit: some callers know only the id.
  ObsoleteBlob(BlobId blob) : id(blob) {}  // NOLINT(google-explicit-constructor)
  BlobId id;
  TableId table;
  TabletId tablet;
  uint64_t bytes = 0;
  int64_t since_us = 0;  // trusted time
};

// A blob that could not be removed, and the reason.
struct KeptBlob {
  ObsoleteBlob blob;
  Error error;
};

// One shard. Must outlive every Version (version.h) of the shard.
class ObsoleteBlobDeleter {
 public:
  // Number of failed removals remembered.
  static constexpr size_t kMostKept = 1000;
  static constexpr size_t kAtOnce = 8;
  // What could not be removed is tried again; beyond kMostKept not before the next start.
  static constexpr int64_t kRetryUs = 10'000'000;

  ObsoleteBlobDeleter(const Runtime& runtime, BlobStore& store)
      : runtime_(runtime),
        store_(store),
        retry_(
            runtime.timers,
            [](void* self) { static_cast<ObsoleteBlobDeleter*>(self)->try_again(); }, this) {}

  // REQUIRES: no object reads the blob, and the manifest does not name it.
  void remove(ObsoleteBlob blob);
  // Keeps the blobs of `only`, or all without it, for a backup that reads them; their removal waits
  // for release(). May be called again with others.
  void hold(const std::optional<std::vector<BlobId>>& only);
  void release();
  // Resumes when no blob is left to remove, except those held and those that could not be removed,
  // which from now on stay until the next start. Call at the end.
  Async<void> drain();
  // Blobs that wait for release(), and those that could not be removed yet.
  const std::vector<ObsoleteBlob>& held() const { return held_; }
  const std::vector<KeptBlob>& kept() const { return kept_; }

 private:
  Async<void> run();
  bool is_held(BlobId id) const { return holding_ && (!only_ || only_->contains(id)); }
  void remove_held();
  void try_again();

  Runtime runtime_;
  BlobStore& store_;
  std::deque<ObsoleteBlob> queue_;
  size_t running_ = 0;
  bool holding_ = false;
  std::optional<absl::flat_hash_set<BlobId>> only_;  // while holding
  std::vector<ObsoleteBlob> held_;                   // removed after the hold
  std::vector<KeptBlob> kept_;
  bool ends_ = false;
  Timer retry_;
  ConditionVariable idle_;
};

// BlobRefCounts: reference counts of blobs that more than one tablet names, or has named since the
// node started; the last holder removes the blob. A blob that only one tablet ever named is not
// here: the ObsoleteBlobDeleter of its shard removes it.
//
// A holder is one TabletTable (tablet_table.h): a tablet's reference to the blob in the manifest,
// and the versions and cursors that still read through it. A split or a move adds its new holders
// here when its edit has succeeded, before any of them exists and while the old one is still
// counted. The count is therefore zero exactly when neither the manifest nor a reader refers to the
// blob, as far as this process sees. If it does not see all tablets, a blob that is marked as
// shared in the manifest (table_item.h) stays: other nodes may name it, and who sees all of them
// removes it.
//
// On shard 0; other shards post to it.
class BlobRefCounts {
 public:
  // `deleter` belongs to shard 0 and must outlive this. `has_all_tablets`: see
  // ManifestStore::has_all_tablets().
  BlobRefCounts(ObsoleteBlobDeleter& deleter, bool has_all_tablets)
      : deleter_(deleter), has_all_tablets_(has_all_tablets) {}

  // The start found this many references in the manifest to a blob that is marked as shared.
  void found(BlobId blob, uint64_t names) { blobs_[blob] = {.holders = names, .shared = true}; }
  // Adds that many holders. An unknown blob has had one so far. `shared`: the manifest marks it.
  void add(BlobId blob, uint64_t holders, bool shared);
  // An obsolete holder has been destroyed.
  void release(const ObsoleteBlob& blob);
  uint64_t holders(BlobId blob) const;
  size_t size() const { return blobs_.size(); }

 private:
  struct Counted {
    uint64_t holders = 0;
    bool shared = false;
  };
  ObsoleteBlobDeleter& deleter_;
  const bool has_all_tablets_;
  absl::flat_hash_map<BlobId, Counted> blobs_;
};

class TabletTable;

// ObsoleteBlobs: receives the obsolete tables of one shard: a blob used by one tablet only goes to
// the shard's deleter, one that others may name to shard 0, which counts. It also tracks obsolete
// tables still held by cursors: their bytes are pinned.
//
// One shard. All arguments must outlive every table of the shard.
class ObsoleteBlobs {
 public:
  ObsoleteBlobs(ObsoleteBlobDeleter& deleter, BlobRefCounts& shared, Mailbox& mailbox)
      : deleter_(deleter), shared_(shared), mailbox_(mailbox) {}

  // REQUIRES: see ObsoleteBlobDeleter::remove().
  void remove(const ObsoleteBlob& blob) { deleter_.remove(blob); }
  // REQUIRES: BlobRefCounts counts this holder.
  void release_shared(const ObsoleteBlob& blob) {
    if (mailbox_.self() == kHomeShard) return shared_.release(blob);
    mailbox_.post_on(kHomeShard, [&shared = shared_, blob] { shared.release(blob); });
  }

  // `who` becomes obsolete, and later is destroyed.
  void obsolete(const TabletTable& who, const ObsoleteBlob& blob) { pinned_[&who] = blob; }
  void gone(const TabletTable& who) { pinned_.erase(&who); }
  const absl::flat_hash_map<const TabletTable*, ObsoleteBlob>& pinned() const { return pinned_; }

 private:
  absl::flat_hash_map<const TabletTable*, ObsoleteBlob> pinned_;
  ObsoleteBlobDeleter& deleter_;
  BlobRefCounts& shared_;
  Mailbox& mailbox_;
};

}  // namespace cellar::engine
