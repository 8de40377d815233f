#include "engine/store/file/record_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/base/check.h"
#include "io/disk/path.h"

namespace cellar::engine {
namespace {

constexpr size_t kCarryBytes = align_up(kMaxRecordPayloadBytes + kRecordHeaderBytes);

Async<Result<void>> fill_with_zeros(File& file, uint64_t size, IoClass io_class) {
  CO_TRY(const uint64_t had, co_await file.size());
  if (had > size) CO_TRY_VOID(co_await file.truncate(size));
  CO_TRY_VOID(co_await file.allocate(0, size));
  const AlignedBuffer zeros(kZeroPieceBytes);
  std::memset(zeros.data(), 0, zeros.size());
  for (uint64_t at = 0; at < size; at += kZeroPieceBytes) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(kZeroPieceBytes, size - at));
    const std::span<const std::byte> piece = zeros.span(0, n);
    CO_TRY_VOID(co_await write_at(file, at, piece, io_class));
  }
  CO_TRY_VOID(co_await sync(file, io_class));
  co_return Result<void>();
}

Async<Result<void>> head_and_name(FileSystem& fs, File& file, std::string path, FileHeader header,
                                  IoClass io_class) {
  if (!header.former) CO_TRY_VOID(co_await fill_with_zeros(file, header.file_bytes, io_class));
  const AlignedBuffer block = encode_file_header(header);
  const std::span<const std::byte> bytes = block.span();
  CO_TRY_VOID(co_await write_at(file, 0, bytes, io_class, true));
  CO_TRY_VOID(co_await fs.rename(file.path(), path));
  const std::string directory(path_parent(path));
  CO_TRY_VOID(co_await fs.sync_dir(directory));
  co_return Result<void>();
}

Async<Result<void>> remove_if_there(FileSystem& fs, std::string path) {
  auto removed = co_await fs.remove(path);
  if (!removed && removed.error().code != Errc::not_found) co_return removed;
  co_return Result<void>();
}

// Opens the temporary file of `path` and prepares it according to the header.
Async<Result<std::unique_ptr<File>>> prepare(FileSystem& fs, std::string path, FileHeader header,
                                             IoClass io_class, OpenOptions::Mode mode) {
  const std::string temporary = path + std::string(kTemporarySuffix);
  OpenOptions options;
  options.mode = mode;
  options.direct = true;
  CO_TRY(auto file, co_await fs.open(temporary, options));
  auto prepared = co_await head_and_name(fs, *file, path, header, io_class);
  auto closed = co_await file->close();
  if (prepared && !closed) prepared = closed;
  if (prepared) {
    // Reopened, so that errors mention the final name.
    options.mode = OpenOptions::Mode::read_write;
    co_return co_await fs.open(path, options);
  }
  // Both names are removed, because space is probably short.
  auto temporary_removed = co_await fs.remove(temporary);
  auto named_removed = co_await fs.remove(path);
  (void)temporary_removed, (void)named_removed;  // the first error is returned
  co_return std::unexpected(std::move(prepared).error());
}

// Retries once after a device error.
Async<Result<size_t>> read_twice(File& file, uint64_t offset, std::span<std::byte> into) {
  auto got = co_await read_at(file, offset, into, IoClass::read);
  if (got || got.error().os_error != EIO) co_return got;
  co_return co_await read_at(file, offset, into, IoClass::read);
}

bool is_zero(Bytes b) {
  return b.empty() || (b[0] == 0 && std::memcmp(b.data(), b.data() + 1, b.size() - 1) == 0);
}

}  // namespace

Async<Result<std::unique_ptr<File>>> prepare_record_file(FileSystem& fs, std::string path,
                                                         FileHeader header, IoClass io_class) {
  const std::string temporary = path + std::string(kTemporarySuffix);
  CO_TRY_VOID(co_await remove_if_there(fs, temporary));
  co_return co_await prepare(fs, path, header, io_class, OpenOptions::Mode::create_new);
}

Async<Result<std::unique_ptr<File>>> prepare_record_file_in(FileSystem& fs, std::string spare,
                                                            std::string path, FileHeader header,
                                                            IoClass io_class) {
  const std::string temporary = path + std::string(kTemporarySuffix);
  CO_TRY_VOID(co_await fs.rename(spare, temporary));
  // The rename is durable before the file is overwritten.
  const std::string directory(path_parent(path));
  CO_TRY_VOID(co_await fs.sync_dir(directory));
  co_return co_await prepare(fs, path, header, io_class, OpenOptions::Mode::read_write);
}

Async<Result<std::unique_ptr<File>>> reuse_record_file(FileSystem& fs, std::string old_path,
                                                       std::string path, FileHeader header,
                                                       IoClass io_class) {
  CHECK(header.former.has_value(), "{} is to be used again without a word of it", old_path);
  const std::string temporary = path + std::string(kTemporarySuffix);
  CO_TRY_VOID(co_await fs.rename(old_path, temporary));
  // The rename is durable before the header changes.
  const std::string directory(path_parent(path));
  CO_TRY_VOID(co_await fs.sync_dir(directory));
  co_return co_await prepare(fs, path, header, io_class, OpenOptions::Mode::read_write);
}

Async<Result<void>> close_after(std::unique_ptr<File> file, Result<void> result) {
  auto closed = co_await file->close();
  if (!result) co_return result;
  co_return closed;
}

namespace {

Async<Result<FileHeader>> read_header(File& file, RecordFileKind kind) {
  CO_TRY(const uint64_t size, co_await file.size());
  const AlignedBuffer block(kFileHeaderBlockBytes);
  const std::span<std::byte> into = block.span();
  CO_TRY(const size_t got, co_await read_twice(file, 0, into));
  auto header = decode_file_header(block.bytes(0, got), kind, file.path());
  if (header && header->file_bytes != size) {
    co_return fail(Errc::data_loss, "{} is {} bytes long instead of {}", file.path(), size,
                   header->file_bytes);
  }
  co_return header;
}

}  // namespace

Async<Result<OpenedRecordFile>> open_record_file(FileSystem& fs, std::string path,
                                                 RecordFileKind kind) {
  OpenOptions options;
  options.direct = true;
  OpenedRecordFile opened;
  auto file = co_await fs.open(path, options);
  if (!file) co_return std::unexpected(std::move(file).error());
  opened.file = *std::move(file);
  auto header = co_await read_header(*opened.file, kind);
  if (!header) {
    auto closed = co_await opened.file->close();
    (void)closed;
    co_return std::unexpected(std::move(header).error());
  }
  opened.header = *header;
  co_return opened;
}

RecordFileScan::RecordFileScan(File& file, const FileHeader& header, uint64_t base)
    : file_(file),
      owner_(record_owner(header.kind, header.id)),
      base_(base),
      file_bytes_(header.file_bytes),
      reused_(header.former.has_value()),
      carry_bytes_(std::min<uint64_t>(kCarryBytes, align_up(file_bytes_))),
      buffer_(carry_bytes_ + std::min<uint64_t>(kChunkBytes, align_up(file_bytes_))),
      start_at_(kFileHeaderBlockBytes) {}

RecordFileScan::Step RecordFileScan::next(RecordView& record) {
  size_t need = 0;
  if (read_to() == file_bytes_ && start_ == end_) return Step::end_of_file;
  switch (parse_record(available(), owner_, position(), &record, &need)) {
    case RecordStatus::whole:
      advance(record.size());
      return Step::record;
    case RecordStatus::need_more:
      return read_to() == file_bytes_ ? Step::bad : Step::fill;
    case RecordStatus::zeros:
      return Step::zeros;
    case RecordStatus::bad:
      return Step::bad;
  }
  UNREACHABLE("record status");
}

Async<Result<void>> RecordFileScan::fill(size_t most_bytes) {
  const size_t carried = end_ - start_;
  CHECK(carried <= carry_bytes_, "{} bytes carried over in {}", carried, file_.path());
  std::memmove(buffer_.data() + carry_bytes_ - carried, buffer_.data() + start_, carried);
  start_ = carry_bytes_ - carried;
  end_ = carry_bytes_;
  const uint64_t at = read_to();
  const auto n =
      static_cast<size_t>(std::min<uint64_t>(std::min(most_bytes, kChunkBytes), file_bytes_ - at));
  const std::span<std::byte> into = buffer_.span(carry_bytes_, n);
  CO_TRY(const size_t got, co_await read_twice(file_, at, into));
  if (got != n) {
    co_return fail(Errc::data_loss, "{} ends at {} instead of {}", file_.path(), at + got,
                   file_bytes_);
  }
  end_ = carry_bytes_ + n;
  co_return Result<void>();
}

void RecordFileScan::skip_to(uint64_t offset) {
  CHECK(offset % kIoAlignment == 0 && offset >= read_to() && offset <= file_bytes_,
        "skip to {} in {}, read to {}", offset, file_.path(), read_to());
  start_ = end_ = carry_bytes_;
  start_at_ = offset;
}

bool RecordFileScan::skip_block() {
  const auto stretch = static_cast<size_t>(kIoAlignment - start_at_ % kIoAlignment);
  if (end_ - start_ < stretch) return false;
  advance(stretch);
  return true;
}

RecordFileScan::Step RecordFileScan::next_of_rest(Rest& rest) {
  if (start_at_ == file_bytes_) return Step::end_of_file;
  // Skips to the next block boundary, the only place where a batch can start.
  const auto stretch = static_cast<size_t>(kIoAlignment - start_at_ % kIoAlignment);
  if (end_ - start_ < stretch) return Step::fill;
  const bool used = !is_zero(available().substr(0, stretch));
  // Old data of an earlier segment does not count, except in the block in which the records
  // stopped.
  const bool counts = used && (!reused_ || stretch < kIoAlignment);
  if (used && (in_batch_ || stretch == kIoAlignment)) {
    RecordView record;
    size_t need = 0;
    const RecordStatus status = parse_record(available(), owner_, position(), &record, &need);
    if (status == RecordStatus::need_more && read_to() < file_bytes_) return Step::fill;
    if (status == RecordStatus::whole) {
      rest.greatest_mark = std::max(rest.greatest_mark, record.durable_mark);
      in_batch_ = true;
      advance(record.size());
      rest.used_end = position();
      return Step::record;
    }
  }
  in_batch_ = false;
  advance(stretch);
  if (counts) rest.used_end = position();
  return used ? Step::bad : Step::zeros;
}

Async<Result<RecordFileScan::Rest>> RecordFileScan::scan_rest() {
  Rest rest;
  in_batch_ = false;
  for (;;) {
    const Step step = next_of_rest(rest);
    if (step == Step::end_of_file) co_return rest;
    if (step == Step::fill) {
      CO_TRY_VOID(co_await fill());
    }
  }
}

}  // namespace cellar::engine
