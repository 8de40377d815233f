// LocalBlob: an open blob file and its range reads.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/base/aligned_buffer.h"
#include "io/disk/file.h"

namespace cellar::engine {

// One shard.
class LocalBlob final : public Blob {
 public:
  static constexpr int kReadRetries = 1;  // for a read that failed with EIO

  LocalBlob(BlobId id, std::unique_ptr<File> file, uint64_t size)
      : id_(id),
        file_(std::move(file)),
        unit_(std::clamp(file_->alignment(), kLeastUnit, kIoAlignment)),
        size_(size) {}
  ~LocalBlob() override;

  BlobId id() const override { return id_; }
  uint64_t size() const override { return size_; }
  void submit(BlobRead& read) override;

 private:
  // A read in flight. Pooled, so that a cache miss allocates only its buffer.
  struct Reading {
    IoOp op;
    LocalBlob* owner = nullptr;
    BlobRead* read = nullptr;
    size_t have = 0;  // bytes of the aligned range received so far
    int retries_left = 0;
  };

  // Reads are aligned to the device's unit instead of kIoAlignment, so that a block of 2.5 KiB
  // seldom costs a transfer of 8 KiB.
  static constexpr size_t kLeastUnit = 512;

  static void on_io(IoOp& op);
  void start(Reading& reading);
  void issue(Reading& reading);
  void arrived(Reading& reading);
  void finish(Reading& reading);

  const BlobId id_;
  std::unique_ptr<File> file_;
  const size_t unit_;
  const uint64_t size_;
  std::vector<std::unique_ptr<Reading>> free_;
  size_t in_flight_ = 0;
};

}  // namespace cellar::engine
