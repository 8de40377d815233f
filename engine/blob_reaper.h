// BlobReaper: removes the blobs that nobody names or reads any more, one after the other, in the
// background of its shard. What it does not get to, because the process ends or the disk refuses,
// is an orphan and goes at the next start.
#pragma once

#include <deque>

#include "engine/model/types.h"
#include "engine/store/blob_store.h"
#include "io/runtime/event.h"
#include "io/runtime/runtime.h"

namespace cellar::engine {

// One shard. Must outlive every Version (version.h) of the shard.
class BlobReaper {
 public:
  BlobReaper(const Runtime& runtime, BlobStore& store) : runtime_(runtime), store_(store) {}

  // REQUIRES: no object reads the blob, and the manifest does not name it.
  void remove(BlobId id);
  // Resumes when nothing is left to remove.
  Async<void> drain();

 private:
  Async<void> run();

  Runtime runtime_;
  BlobStore& store_;
  std::deque<BlobId> queue_;
  bool running_ = false;
  Notify idle_;
};

}  // namespace cellar::engine
