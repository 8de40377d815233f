// RadosBlobStore: blobs as objects of a Ceph pool, replicated or erasure-coded
// (rados_blob_names.h).
//
// Writing: the head is created first and empty, with the attempt's id; pieces 1 and up are written
// whole, kPiecesInFlight at a time; the head's content, the size and the state "sealed" are set
// last, by one write that is guarded by the attempt. So a sealed blob has all its pieces, and the
// seal of a writer that was given up cannot arrive later on a blob that was removed or is being
// written anew.
//
// Removing: the head goes first, by a write that is guarded by the attempt that was read, then the
// pieces of that attempt. Pieces have the attempt in their names, so that nothing is removed of
// what another attempt has sealed, also not by a late copy. What an interruption leaves is listed
// as a blob that is not sealed, and the removal of such a one goes by the names that are there.
//
// Two that remove and write the same blobs at the same time disturb each other (ABORTED); one of a
// place is the rule (net/server/OPERATIONS.md).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/blob_store.h"
#include "engine/store/rados/rados_objects.h"

namespace cellar::engine {

// One loop.
class RadosBlobStore final : public BlobStore {
 public:
  static constexpr size_t kPiecesInFlight = 2;
  static constexpr size_t kHeadsInFlight = 32;  // of a listing

  // Must outlive it.
  explicit RadosBlobStore(RadosObjects& objects) : objects_(objects) {}

  Async<Result<std::unique_ptr<BlobWriter>>> create(BlobId id, uint64_t expected_bytes,
                                                    IoClass io_class) override;
  Async<Result<std::unique_ptr<Blob>>> open(BlobId id) override;
  // Looks at every object of the pool (RadosPort::list). A blob that lost a piece, or whose head is
  // damaged, is not sealed.
  Async<Result<std::vector<BlobInfo>>> list() override;
  Async<Result<void>> remove(BlobId id) override;

 private:
  struct Listed {
    BlobInfo blob;
    std::map<std::string, uint64_t> pieces;  // how many, by attempt; without the head
  };

  Async<Result<void>> look_at_heads(std::vector<Listed>& listed);
  Async<Result<void>> look_at(Listed& listed);
  Async<Result<void>> remove_remains(BlobId id);

  RadosObjects& objects_;
};

}  // namespace cellar::engine
