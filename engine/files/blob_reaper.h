// BlobReaper: removes the blobs that nobody names or reads any more, in the background of its
// shard, kAtOnce at a time, so that the store knows how much waits and paces itself by that. What
// it does not get to, because the process ends or the disk refuses, is an orphan and goes at the
// next start.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <deque>
#include <optional>
#include <vector>

#include "engine/model/types.h"
#include "engine/store/blob_store.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// A blob that no manifest entry of its tablet names any more, and whose it was; what is not known
// of it is 0.
struct EndedBlob {
  EndedBlob() = default;
  EndedBlob(BlobId blob) : id(blob) {}  // NOLINT(google-explicit-constructor): all that some know
  BlobId id;
  TableId table;
  TabletId tablet;
  uint64_t bytes = 0;
  int64_t since_us = 0;  // trusted
};

// One that could not be removed, and why.
struct KeptBlob {
  EndedBlob blob;
  Error error;
};

// One shard. Must outlive every Version (version.h) of the shard.
class BlobReaper {
 public:
  // So many of those that could not be removed are remembered.
  static constexpr size_t kMostKept = 1000;
  static constexpr size_t kAtOnce = 8;

  BlobReaper(const Runtime& runtime, BlobStore& store) : runtime_(runtime), store_(store) {}

  // REQUIRES: no object reads the blob, and the manifest does not name it.
  void remove(EndedBlob blob);
  // From now on blobs of `only` stay, or all without it, for a backup that reads them; what comes
  // to be removed meanwhile waits for release(). May be said again, with others.
  void hold(const std::optional<std::vector<BlobId>>& only);
  void release();
  // Resumes when nothing is left to remove that is not held.
  Async<void> drain();
  // Those that wait for release(), and those that stay until the next start.
  const std::vector<EndedBlob>& held() const { return held_; }
  const std::vector<KeptBlob>& kept() const { return kept_; }

 private:
  Async<void> run();
  bool is_held(BlobId id) const { return holding_ && (!only_ || only_->contains(id)); }
  void remove_held();

  Runtime runtime_;
  BlobStore& store_;
  std::deque<EndedBlob> queue_;
  size_t running_ = 0;
  bool holding_ = false;
  std::optional<absl::flat_hash_set<BlobId>> only_;  // while holding
  std::vector<EndedBlob> held_;                      // to be removed when they are not
  std::vector<KeptBlob> kept_;
  Notify idle_;
};

}  // namespace cellar::engine
