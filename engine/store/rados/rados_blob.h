// RadosBlob: a sealed blob in a pool, read by range. RadosBlobWriter: one that is being written.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/store/blob_store.h"
#include "engine/store/rados/rados_objects.h"
#include "io/loop/event.h"

namespace cellar::engine {

class RadosBlob final : public Blob {
 public:
  RadosBlob(RadosObjects& objects, BlobId id, std::string attempt, uint64_t size)
      : objects_(objects), id_(id), attempt_(std::move(attempt)), size_(size) {}

  BlobId id() const override { return id_; }
  uint64_t size() const override { return size_; }
  void submit(BlobRead& read) override;

 private:
  static Async<void> carry_out(RadosBlob& self, BlobRead& read);
  std::string name_of(uint64_t number) const;

  RadosObjects& objects_;
  const BlobId id_;
  const std::string attempt_;
  const uint64_t size_;
};

// What is known of a blob by its head.
struct RadosHead {
  std::string attempt;
  bool sealed = false;
  uint64_t size = 0;
};
// NOT_FOUND; DATA_LOSS if the attributes are no blob's.
Async<Result<RadosHead>> read_head(RadosObjects& objects, BlobId id);
// Removes the head if it is of this attempt. False: another attempt has the head now.
Async<Result<bool>> remove_head(RadosObjects& objects, BlobId id, std::string attempt);
// Removes pieces 1 to `pieces` - 1 of an attempt whose head is gone.
Async<Result<void>> remove_pieces(RadosObjects& objects, BlobId id, std::string attempt,
                                  uint64_t pieces);

class RadosBlobWriter final : public BlobWriter {
 public:
  // The head exists, with this attempt.
  RadosBlobWriter(RadosObjects& objects, BlobId id, std::string attempt)
      : objects_(objects), id_(id), attempt_(std::move(attempt)) {}
  ~RadosBlobWriter() override;

  Async<Result<void>> append(Bytes part) override;
  uint64_t size() const override { return size_; }
  Async<Result<void>> seal() override;
  // Removes what this attempt has written, and nothing of another.
  Async<Result<void>> abandon() override;

 private:
  Async<void> hand_over();  // the piece that is being filled
  Async<void> wait_for_all();
  static Async<void> write_piece(RadosBlobWriter& self, uint64_t number, std::string content);
  Async<Result<void>> write_seal();

  RadosObjects& objects_;
  const BlobId id_;
  const std::string attempt_;
  std::string head_;     // piece 0, which is written by the seal
  std::string filling_;  // a later one
  uint64_t pieces_ = 0;  // that were handed over, the head included
  uint64_t size_ = 0;
  size_t in_flight_ = 0;
  ConditionVariable landed_;
  std::optional<Error> error_;
  bool over_ = false;
};

}  // namespace cellar::engine
