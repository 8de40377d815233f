// LocalBlobWriter: writes one blob in pieces of kPieceBytes, kPiecesInFlight at a time.
//
// The pieces are direct writes without dsync into reserved space. One sync at the end makes them
// durable, and only then the file gets its final name, so a named file is complete.
//
// No piece extends the file: a direct write that extends it locks the inode exclusively, which
// removes concurrency, and the kernel runs it on a worker thread at seven times the CPU time. The
// expected size is reserved at once; beyond it, as much as was reserved before, from
// kLeastReserveBytes to kMostReserveBytes, because each reservation waits for the writes in flight
// and may add an extent. The remainder of a blob is reserved exactly. Unused space is released at
// the end, in steps, because that may be slow (file_removal.h).
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "engine/store/blob/directory_sync.h"
#include "engine/store/blob/write_rate.h"
#include "engine/store/blob_store.h"
#include "engine/store/file/file_removal.h"
#include "engine/store/file/full_write.h"
#include "io/loop/event.h"

namespace cellar::engine {

class LocalBlobWriter final : public BlobWriter {
 public:
  static constexpr size_t kPieceBytes = 256 * 1024;
  static constexpr size_t kPiecesInFlight = 3;
  static constexpr uint64_t kLeastReserveBytes = 1u << 20;
  static constexpr uint64_t kMostReserveBytes = 8u << 20;

  // `file` is new and open at unsealed_blob_path(id).
  LocalBlobWriter(FileSystem& fs, FileRemovalRef removal, WriteRateRef rate, DirectorySync& names,
                  BlobId id, std::unique_ptr<File> file, IoClass io_class);
  ~LocalBlobWriter() override;

  // Reserves space for the first `end` bytes, a multiple of kIoAlignment. An error fails the
  // writer.
  Async<Result<void>> reserve(uint64_t end);
  Async<Result<void>> append(Bytes part) override;
  uint64_t size() const override { return size_; }
  Async<Result<void>> seal() override;
  Async<Result<void>> abandon() override;

 private:
  struct Piece : FullWrite {
    LocalBlobWriter* owner = nullptr;
    AlignedBuffer buffer;
    size_t bytes = 0;  // being written
    bool in_flight = false;
  };

  static void on_write(FullWrite& write);
  // Returns the piece being filled; waits until one is free.
  Async<Piece*> filling();
  void submit(size_t bytes);
  Async<Result<void>> reserve_ahead(uint64_t end);
  Async<void> wait_for_all();
  Async<Result<void>> finish();
  Result<void> failed() const;

  FileSystem& fs_;
  const FileRemovalRef removal_;
  const WriteRateRef rate_;
  DirectorySync& names_;  // of the directory
  const BlobId id_;
  std::unique_ptr<File> file_;
  uint64_t reserved_bytes_ = 0;
  const IoClass io_class_;
  std::array<Piece, kPiecesInFlight> pieces_;
  size_t current_ = 0;  // index of the piece being filled
  size_t filled_ = 0;   // bytes in it
  size_t in_flight_ = 0;
  uint64_t written_ = 0;  // submitted so far
  uint64_t size_ = 0;
  std::optional<Error> error_;  // the first error; nothing is written after it
  ConditionVariable completed_;
};

}  // namespace cellar::engine
