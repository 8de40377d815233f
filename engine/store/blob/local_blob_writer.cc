#include "engine/store/blob/local_blob_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/store/blob/blob_files.h"
#include "io/base/check.h"

namespace cellar::engine {

LocalBlobWriter::LocalBlobWriter(FileSystem& fs, FileRemovalRef removal, WriteRateRef rate,
                                 DirectorySync& names, BlobId id, std::unique_ptr<File> file,
                                 IoClass io_class)
    : fs_(fs),
      removal_(std::move(removal)),
      rate_(std::move(rate)),
      names_(names),
      id_(id),
      file_(std::move(file)),
      io_class_(io_class) {
  for (Piece& piece : pieces_) {
    piece.owner = this;
    piece.done = &LocalBlobWriter::on_write;
  }
}

LocalBlobWriter::~LocalBlobWriter() {
  CHECK(in_flight_ == 0, "blob {:x} is given up with {} writes in flight", id_.value(), in_flight_);
}

Result<void> LocalBlobWriter::failed() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

void LocalBlobWriter::on_write(FullWrite& write) {
  auto& piece = static_cast<Piece&>(write);
  LocalBlobWriter& self = *piece.owner;
  piece.in_flight = false;
  --self.in_flight_;
  self.rate_->ended(write.error ? 0 : piece.bytes);
  if (write.error && !self.error_) self.error_ = *std::move(write.error);
  self.completed_.notify_all();
}

Async<LocalBlobWriter::Piece*> LocalBlobWriter::filling() {
  Piece& piece = pieces_[current_];
  while (piece.in_flight) co_await completed_.wait();
  if (piece.buffer.size() == 0) piece.buffer = AlignedBuffer(kPieceBytes);
  co_return &piece;
}

void LocalBlobWriter::submit(size_t bytes) {
  Piece& piece = pieces_[current_];
  piece.in_flight = true;
  piece.bytes = bytes;
  ++in_flight_;
  rate_->began();
  const uint64_t at = written_;
  written_ += bytes;
  current_ = (current_ + 1) % kPiecesInFlight;
  filled_ = 0;
  piece.start(*file_, at, piece.buffer.span(0, bytes), io_class_, false);
}

Async<Result<void>> LocalBlobWriter::reserve(uint64_t end) {
  if (end <= reserved_bytes_) co_return failed();
  auto allocated = co_await file_->allocate(reserved_bytes_, end - reserved_bytes_);
  if (allocated) {
    reserved_bytes_ = end;
  } else if (!error_) {
    error_ = std::move(allocated).error();
  }
  co_return failed();
}

// Reserves at least up to `end`, and no more than that if disk space is short.
Async<Result<void>> LocalBlobWriter::reserve_ahead(uint64_t end) {
  if (end <= reserved_bytes_) co_return failed();
  const uint64_t more = std::clamp(reserved_bytes_, kLeastReserveBytes, kMostReserveBytes);
  const uint64_t ahead = std::max(end, reserved_bytes_ + more);
  auto allocated = co_await file_->allocate(reserved_bytes_, ahead - reserved_bytes_);
  if (!allocated) co_return co_await reserve(end);
  reserved_bytes_ = ahead;
  co_return failed();
}

Async<Result<void>> LocalBlobWriter::append(Bytes part) {
  while (!part.empty()) {
    Piece* piece = co_await filling();
    CO_TRY_VOID(failed());
    const size_t n = std::min(part.size(), kPieceBytes - filled_);
    std::memcpy(piece->buffer.chars() + filled_, part.data(), n);
    filled_ += n;
    size_ += n;
    part.remove_prefix(n);
    if (filled_ < kPieceBytes) continue;
    CO_TRY_VOID(co_await reserve_ahead(written_ + kPieceBytes));
    submit(kPieceBytes);
  }
  co_return failed();
}

Async<void> LocalBlobWriter::wait_for_all() {
  while (in_flight_ > 0) co_await completed_.wait();
}

Async<Result<void>> LocalBlobWriter::finish() {
  if (filled_ > 0) {
    Piece* piece = co_await filling();
    const size_t bytes = align_up(filled_);
    std::memset(piece->buffer.chars() + filled_, 0, bytes - filled_);
    auto reserved = co_await reserve(written_ + bytes);
    if (reserved) submit(bytes);
  }
  co_await wait_for_all();
  CO_TRY_VOID(failed());
  if (reserved_bytes_ != size_) {
    CO_TRY_VOID(co_await removal_->cut(*file_, reserved_bytes_, size_));
  }
  CO_TRY_VOID(co_await sync(*file_, io_class_));
  co_return Result<void>();
}

Async<Result<void>> LocalBlobWriter::seal() {
  CHECK(file_ != nullptr, "blob {:x} was sealed or abandoned already", id_.value());
  Result<void> result = co_await finish();
  auto closed = co_await file_->close();
  file_.reset();
  CO_TRY_VOID(std::move(result));
  CO_TRY_VOID(std::move(closed));
  const std::string from = unsealed_blob_path(id_);
  const std::string to = blob_path(id_);
  CO_TRY_VOID(co_await fs_.rename(from, to));
  co_return co_await names_.run();
}

Async<Result<void>> LocalBlobWriter::abandon() {
  if (file_ != nullptr) {
    co_await wait_for_all();
    auto closed = co_await file_->close();
    (void)closed;  // the file is abandoned
    file_.reset();
  }
  // If a seal failed late, the file may have either name.
  const std::string unsealed = unsealed_blob_path(id_);
  const std::string sealed = blob_path(id_);
  CO_TRY_VOID(co_await removal_->remove(unsealed));
  CO_TRY_VOID(co_await removal_->remove(sealed));
  co_return Result<void>();
}

}  // namespace cellar::engine
