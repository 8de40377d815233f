#include "engine/store/rados/rados_blob_store.h"

#include <algorithm>
#include <optional>

#include "engine/store/rados/rados_blob.h"
#include "engine/store/rados/rados_blob_names.h"

namespace cellar::engine {

Async<Result<std::unique_ptr<BlobWriter>>> RadosBlobStore::create(BlobId id,
                                                                  uint64_t expected_bytes,
                                                                  IoClass io_class) {
  (void)expected_bytes;  // a pool reserves nothing
  (void)io_class;
  const std::string attempt = objects_.attempt_id();
  RadosWrite write;
  write.create_new()
      .set_xattr(std::string(kAttemptXattr), attempt)
      .set_xattr(std::string(kStateXattr), std::string(kOpen));
  CO_TRY(const auto made, co_await objects_.write(head_name(id), std::move(write)));
  if (made == RadosObjects::Made::refused) {
    // Perhaps by an earlier copy of the creation.
    CO_TRY(const RadosHead head, co_await read_head(objects_, id));
    if (head.attempt != attempt) {
      co_return fail(Errc::already_exists, "blob {:x} exists", id.value());
    }
  }
  co_return std::make_unique<RadosBlobWriter>(objects_, id, attempt);
}

Async<Result<std::unique_ptr<Blob>>> RadosBlobStore::open(BlobId id) {
  const auto head = co_await read_head(objects_, id);
  if (!head && head.error().code != Errc::not_found) co_return std::unexpected(head.error());
  if (!head || !head->sealed) {
    co_return fail(Errc::not_found, "blob {:x} does not exist", id.value());
  }
  co_return std::make_unique<RadosBlob>(objects_, id, head->attempt, head->size);
}

Async<Result<std::vector<BlobInfo>>> RadosBlobStore::list() {
  std::vector<Listed> listed;
  CO_TRY(const std::vector<std::string> names, co_await objects_.list(""));
  // The objects of a blob are neighbours, because names are sorted.
  for (const std::string& name : names) {
    const auto piece = parse_piece_name(name);
    if (!piece) continue;
    if (listed.empty() || listed.back().blob.id != piece->id) listed.push_back({{piece->id}, {}});
    if (piece->number > 0) ++listed.back().pieces[piece->attempt];
  }
  CO_TRY_VOID(co_await look_at_heads(listed));
  std::vector<BlobInfo> blobs;
  blobs.reserve(listed.size());
  for (const Listed& one : listed) blobs.push_back(one.blob);
  co_return blobs;
}

Async<Result<void>> RadosBlobStore::look_at(Listed& listed) {
  BlobInfo& blob = listed.blob;
  const auto head = co_await read_head(objects_, blob.id);
  if (!head) {
    // A damaged head is no sealed blob: it is replaced, or removed, and the others are listed.
    if (head.error().code == Errc::not_found || head.error().code == Errc::data_loss) {
      co_return Result<void>();
    }
    co_return std::unexpected(head.error());
  }
  blob.size = head->size;
  blob.sealed = head->sealed;
  if (!blob.sealed) co_return Result<void>();
  const uint64_t wanted = pieces_of(head->size);
  if (listed.pieces[head->attempt] + 1 == wanted) co_return Result<void>();
  // It was sealed after its pieces were listed, or one is lost.
  for (uint64_t number = 1; number < wanted && blob.sealed; ++number) {
    const auto there = co_await objects_.xattrs(piece_name(blob.id, head->attempt, number));
    if (there) continue;
    if (there.error().code != Errc::not_found) co_return std::unexpected(there.error());
    blob.sealed = false;
  }
  co_return Result<void>();
}

Async<Result<void>> RadosBlobStore::look_at_heads(std::vector<Listed>& listed) {
  std::optional<Error> error;
  size_t next = 0;
  size_t running = 0;
  ConditionVariable over;
  const auto look = [&]() -> Async<void> {
    while (next < listed.size() && !error) {
      Listed& one = listed[next++];
      const auto looked = co_await look_at(one);
      if (!looked) error = looked.error();
    }
    --running;
    over.notify_all();
  };
  for (size_t i = 0; i < std::min(kHeadsInFlight, listed.size()); ++i) {
    ++running;
    spawn(objects_.runtime().executor, look);
  }
  while (running > 0) co_await over.wait();
  if (error) co_return std::unexpected(*std::move(error));
  co_return Result<void>();
}

Async<Result<void>> RadosBlobStore::remove(BlobId id) {
  const auto head = co_await read_head(objects_, id);
  if (head) {
    CO_TRY(const bool gone, co_await remove_head(objects_, id, head->attempt));
    if (!gone) {
      co_return fail(Errc::aborted, "blob {:x} is written by another at the same time", id.value());
    }
    // A sealed one has no other pieces.
    if (head->sealed) {
      co_return co_await remove_pieces(objects_, id, head->attempt, pieces_of(head->size));
    }
  } else if (head.error().code == Errc::data_loss) {
    CO_TRY_VOID(co_await objects_.remove(head_name(id)));
  } else if (head.error().code != Errc::not_found) {
    co_return std::unexpected(head.error());
  }
  co_return co_await remove_remains(id);
}

// What attempts have left that have no head any more, by the names that are there. An attempt
// writes pieces only after its head, and has no head twice (a late copy of its creation makes one
// without pieces, which list() does not take for sealed): of the pieces that were listed, only
// those of the attempt that has the head after that belong to a blob that is, or may be, sealed.
Async<Result<void>> RadosBlobStore::remove_remains(BlobId id) {
  CO_TRY(const std::vector<std::string> names, co_await objects_.list(blob_prefix(id)));
  const auto head = co_await read_head(objects_, id);
  if (!head && head.error().code != Errc::not_found) co_return std::unexpected(head.error());
  for (const std::string& name : names) {
    const auto piece = parse_piece_name(name);
    if (!piece || piece->attempt.empty() || (head && piece->attempt == head->attempt)) continue;
    CO_TRY_VOID(co_await objects_.remove(name));
  }
  co_return Result<void>();
}

}  // namespace cellar::engine
