// LocalBlobWriter: writes one blob in pieces of kPieceBytes, kPiecesInFlight of them at a time.
//
// The pieces are direct writes without dsync into reserved space; one sync at the end makes them
// durable, and only then does the file get its final name. So whoever sees the name sees all of the
// blob.
//
// No piece ever extends the file: a direct write that does takes the inode for itself, so depth is
// of no use, and the kernel hands it to a thread of its own, at seven times the processor time.
// What is expected is reserved at once, and beyond it as much as was reserved before, from
// kLeastReserveBytes to kMostReserveBytes, in large parts because each waits for the writes in
// flight and may add an extent; the rest of a blob exactly. What was too much is given back at the
// end, in steps, because giving back may cost (file_removal.h).
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "engine/store/blob_store.h"
#include "engine/store/file_removal.h"
#include "engine/store/full_write.h"
#include "engine/store/write_rate.h"
#include "io/loop/event.h"

namespace cellar::engine {

class LocalBlobWriter final : public BlobWriter {
 public:
  static constexpr size_t kPieceBytes = 256 * 1024;
  static constexpr size_t kPiecesInFlight = 3;
  static constexpr uint64_t kLeastReserveBytes = 1u << 20;
  static constexpr uint64_t kMostReserveBytes = 8u << 20;

  // `file` is open under unsealed_blob_path(id), new.
  LocalBlobWriter(FileSystem& fs, FileRemovalRef removal, WriteRateRef rate, BlobId id,
                  std::unique_ptr<File> file, IoClass io_class);
  ~LocalBlobWriter() override;

  // Space for the first `end` bytes; a multiple of kIoAlignment. An error is the writer's.
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
  // The piece being filled; waits until one is free.
  Async<Piece*> filling();
  void submit(size_t bytes);
  Async<Result<void>> reserve_ahead(uint64_t end);
  Async<void> wait_for_all();
  Async<Result<void>> finish();
  Result<void> failed() const;

  FileSystem& fs_;
  const FileRemovalRef removal_;
  const WriteRateRef rate_;
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
  std::optional<Error> error_;  // the first; nothing is written after it
  Notify completed_;
};

}  // namespace cellar::engine
