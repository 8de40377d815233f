#include "engine/store/log/start_spare.h"

#include <algorithm>
#include <bit>

#include "engine/store/file/record_file.h"
#include "engine/store/log/log_files.h"
#include "io/base/aligned_buffer.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

// The segment in use and the one ahead of it use at most a quarter of a log's share of the room.
constexpr uint64_t kSegmentsInPart = 8;

}  // namespace

StartSpare::StartSpare(FileSystem& fs, LogId log, const LogOptions& options)
    : fs_(fs), path_(start_spare_path(log)), options_(options) {}

Async<uint64_t> StartSpare::segment_bytes() {
  const uint64_t wanted = options_.segment_bytes;
  const Result<uint64_t> free = co_await fs_.free_bytes();
  if (!free) co_return wanted;
  uint64_t bytes = *free / options_.logs / kSegmentsInPart;
  if (bytes >= wanted) co_return wanted;
  if (bytes < kAmpleSegmentBytes) bytes = std::max(bytes, co_await release() / kSegmentsInPart);
  const uint64_t least = std::min(wanted, kLeastSegmentBytes);
  co_return std::clamp(std::bit_floor(bytes), least, wanted);
}

Async<uint64_t> StartSpare::release() {
  const OpenOptions options;
  auto file = co_await fs_.open(path_, options);
  if (!file) co_return 0;
  const Result<uint64_t> size = co_await (*file)->size();
  const Result<void> closed = co_await (*file)->close();
  const Result<void> removed = co_await fs_.remove(path_);
  (void)closed;
  if (!removed) log_warn("store", "{}", removed.error().to_string());
  co_return removed ? size.value_or(0) : 0;
}

Async<bool> StartSpare::keep() {
  const Result<uint64_t> free = co_await fs_.free_bytes();
  if (!free) co_return false;
  const uint64_t bytes = align_down(std::min(kStartSpareBytes, *free / options_.logs / 2));
  OpenOptions options;
  options.mode = OpenOptions::Mode::read_write;
  auto file = co_await fs_.open(path_, options);
  if (!file && file.error().code == Errc::not_found) {
    if (bytes < kLeastSegmentBytes) co_return false;
    options.mode = OpenOptions::Mode::create_new;
    file = co_await fs_.open(path_, options);
  }
  if (!file) co_return false;
  const uint64_t had = (co_await (*file)->size()).value_or(0);
  Result<void> kept;
  if (had < bytes) kept = co_await (*file)->allocate(0, bytes);
  kept = co_await close_after(*std::move(file), std::move(kept));
  co_return kept&& std::max(had, bytes) >= kStartSpareBytes;
}

}  // namespace cellar::engine
