#include "io/disk/file.h"

#include "io/base/aligned_buffer.h"
#include "io/base/check.h"
#include "io/disk/path.h"
#include "io/loop/waiter.h"

namespace cellar {
namespace {

// Submits `op` and resumes with op.result. The operation lives in the caller's frame, which stays
// in place while suspended.
Async<int64_t> transfer(File& file, IoOp& op) {
  Waiter waiter;
  op.context = &waiter;
  op.done = [](IoOp& finished) { static_cast<Waiter*>(finished.context)->resume(); };
  file.submit(op);
  co_await waiter.wait();
  co_return op.result;
}

std::unexpected<Error> transfer_error(const IoOp& op, const char* verb, const File& file) {
  const std::string what = op.kind == IoOp::Kind::sync
                               ? fmt::format("{} of {}", verb, file.path())
                               : fmt::format("{} of {} at {}", verb, file.path(), op.offset);
  Error error = os_error(static_cast<int>(-op.result), what);
  if (op.injected) error.message += " (injected)";
  return std::unexpected(std::move(error));
}

}  // namespace

Async<Result<size_t>> read_at(File& file, uint64_t offset, std::span<std::byte> into,
                              IoClass io_class) {
  size_t have = 0;
  while (have < into.size()) {
    IoOp op;
    op.kind = IoOp::Kind::read;
    op.io_class = io_class;
    op.offset = offset + have;
    op.data = into.data() + have;
    op.size = into.size() - have;
    const int64_t moved = co_await transfer(file, op);
    if (moved < 0) co_return transfer_error(op, "read", file);
    have += static_cast<size_t>(moved);
    // A direct read that ends inside a block has reached the end of the file.
    if (moved == 0 || have % file.alignment() != 0) break;
  }
  co_return have;
}

Async<Result<void>> write_at(File& file, uint64_t offset, std::span<const std::byte> from,
                             IoClass io_class, bool dsync) {
  size_t done = 0;
  while (done < from.size()) {
    IoOp op;
    op.kind = IoOp::Kind::write;
    op.io_class = io_class;
    op.dsync = dsync;
    op.offset = offset + done;
    op.data = const_cast<std::byte*>(from.data() + done);  // a write does not modify it
    op.size = from.size() - done;
    const int64_t moved = co_await transfer(file, op);
    if (moved < 0) co_return transfer_error(op, "write", file);
    // A direct file continues at a block boundary, so a partly written block is written again.
    const size_t total = done + static_cast<size_t>(moved);
    const size_t progress = total == from.size() ? total : align_down(total, file.alignment());
    if (progress == done) {
      co_return fail(Errc::unavailable, "write of {} at {}: {} of {} bytes were taken, no progress",
                     file.path(), op.offset, moved, op.size);
    }
    done = progress;
  }
  co_return Result<void>();
}

Async<Result<void>> sync(File& file, IoClass io_class) {
  IoOp op;
  op.kind = IoOp::Kind::sync;
  op.io_class = io_class;
  const int64_t result = co_await transfer(file, op);
  if (result < 0) co_return transfer_error(op, "sync", file);
  co_return Result<void>();
}

Async<Result<std::string>> read_file(FileSystem& fs, std::string path) {
  const OpenOptions options;
  CO_TRY(auto file, co_await fs.open(path, options));
  CO_TRY(const uint64_t size, co_await file->size());
  std::string content(size, '\0');
  const std::span<std::byte> into(reinterpret_cast<std::byte*>(content.data()), content.size());
  auto got = co_await read_at(*file, 0, into, IoClass::read);
  auto closed = co_await file->close();
  if (!got) co_return std::unexpected(std::move(got).error());
  CO_TRY_VOID(std::move(closed));
  content.resize(*got);
  co_return content;
}

namespace {

Async<Result<void>> write_synced(File& file, const std::string& content) {
  const auto bytes = as_byte_span(content);
  CO_TRY_VOID(co_await write_at(file, 0, bytes, IoClass::log));
  CO_TRY_VOID(co_await sync(file, IoClass::log));
  co_return Result<void>();
}

}  // namespace

Async<Result<void>> replace_file(FileSystem& fs, std::string path, std::string content) {
  const std::string temporary = path + ".tmp";
  // A crash may have left the temporary file, and create_new would fail.
  auto removed = co_await fs.remove(temporary);
  if (!removed && removed.error().code != Errc::not_found) {
    co_return std::unexpected(std::move(removed).error());
  }
  OpenOptions options;
  options.mode = OpenOptions::Mode::create_new;
  CO_TRY(auto file, co_await fs.open(temporary, options));
  auto written = co_await write_synced(*file, content);
  auto closed = co_await file->close();
  CO_TRY_VOID(std::move(written));
  CO_TRY_VOID(std::move(closed));
  CO_TRY_VOID(co_await fs.rename(temporary, path));
  const std::string parent(path_parent(path));
  CO_TRY_VOID(co_await fs.sync_dir(parent));
  co_return Result<void>();
}

}  // namespace cellar
