#include "engine/backup/backup_blobs.h"

#include <algorithm>

#include "engine/read/block_load.h"
#include "engine/sstable/table_iterator.h"
#include "engine/store/blob/blob_files.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr size_t kCacheBytes = 4u << 20;
constexpr IoClass kClass = IoClass::compaction;

// A missing blob of a backup is reported by its file name.
Error missing_as_loss(Error error, BlobId id) {
  if (error.code == Errc::not_found) {
    error = Error(Errc::data_loss, fmt::format("{} is missing", blob_path(id)));
  }
  return error;
}

Async<Result<std::unique_ptr<Blob>>> open_blob(BlobStore& store, BlobId id) {
  auto blob = co_await store.open(id);
  if (!blob) co_return std::unexpected(missing_as_loss(std::move(blob).error(), id));
  co_return blob;
}

template <class T>
bool is_loss(const Result<T>& result) {
  return !result && result.error().code == Errc::data_loss;
}

// Calls take(chunk) for each part of the blob, in order. `take` may suspend.
template <class Take>
Async<Result<void>> each_chunk(BackupBlobs& work, Blob& blob, Take& take) {
  for (uint64_t at = 0; at < blob.size();) {
    CO_TRY_VOID(work.check_cancelled());
    const size_t size = std::min<uint64_t>(BackupBlobs::kChunkBytes, blob.size() - at);
    co_await work.pause(size);
    CO_TRY(const std::string chunk, co_await read_blob(blob, at, size, kClass));
    CO_TRY_VOID(co_await take(chunk));
    at += size;
  }
  co_return Result<void>();
}

struct Checksum {
  uint32_t crc = 0;
  Async<Result<void>> operator()(const std::string& chunk) {
    crc = crc32c(chunk, crc);
    co_return Result<void>();
  }
};

struct Copy {
  BlobWriter& writer;
  BackupProgress& progress;
  uint32_t crc = 0;
  Async<Result<void>> operator()(const std::string& chunk) {
    crc = crc32c(chunk, crc);
    progress.copied_bytes += chunk.size();
    return writer.append(chunk);
  }
};

}  // namespace

BackupBlobs::BackupBlobs(Timers& timers, ShardExecutor executor, BackupProgress& progress)
    : progress_(progress), timers_(timers), cache_(kCacheBytes), loader_(executor, cache_) {}

BackupBlobs::~BackupBlobs() = default;

Result<void> BackupBlobs::check_cancelled() const {
  if (progress_.cancelled) return fail(Errc::cancelled, "the backup was called off");
  return {};
}

Async<void> BackupBlobs::pause(uint64_t bytes) {
  if (progress_.rate_bytes_per_s == 0) co_return;
  const double per_us = static_cast<double>(progress_.rate_bytes_per_s) / 1e6;
  budget_.earn(per_us, timers_.now_us());
  budget_.spend(static_cast<double>(bytes));
  const auto wait_us = static_cast<int64_t>(budget_.wait_us(per_us));
  if (wait_us > 0) co_await sleep_us(timers_, wait_us);
}

Async<Result<BackupBlob>> BackupBlobs::copy(BlobStore& from, BlobStore& to, BlobId id) {
  CO_TRY(std::unique_ptr<Blob> blob, co_await open_blob(from, id));
  CO_TRY_VOID(co_await to.remove(id));
  CO_TRY(std::unique_ptr<BlobWriter> writer, co_await to.create(id, blob->size(), kClass));
  Copy take{*writer, progress_};
  Result<void> copied = co_await each_chunk(*this, *blob, take);
  if (copied) copied = co_await writer->seal();
  if (!copied) {
    const Result<void> abandoned = co_await writer->abandon();
    (void)abandoned;  // the first error is returned
    co_return std::unexpected(std::move(copied).error());
  }
  co_return BackupBlob{id, blob->size(), take.crc};
}

Async<Result<BackupBlob>> BackupBlobs::measure(BlobStore& store, BlobId id) {
  CO_TRY(std::unique_ptr<Blob> blob, co_await open_blob(store, id));
  Checksum checksum;
  CO_TRY_VOID(co_await each_chunk(*this, *blob, checksum));
  co_return BackupBlob{id, blob->size(), checksum.crc};
}

Async<Result<void>> BackupBlobs::compare(BlobStore& store, const BackupBlob& expected) {
  CO_TRY(const BackupBlob found, co_await measure(store, expected.id));
  if (found.bytes != expected.bytes) {
    co_return fail(Errc::data_loss, "{} has {} bytes, {} were written", blob_path(expected.id),
                   found.bytes, expected.bytes);
  }
  if (found.crc != expected.crc) {
    co_return fail(Errc::data_loss, "{} is damaged: its checksum is {:08x}, not {:08x}",
                   blob_path(expected.id), found.crc, expected.crc);
  }
  co_return Result<void>();
}

Async<Result<bool>> BackupBlobs::same_tail(BlobStore& a, BlobStore& b, BlobId id) {
  CO_TRY(std::unique_ptr<Blob> first, co_await open_blob(a, id));
  const auto second = co_await open_blob(b, id);
  if (is_loss(second)) co_return false;
  if (!second) co_return std::unexpected(second.error());
  if (first->size() != (*second)->size()) co_return false;
  const size_t size = std::min<uint64_t>(kTailBytes, first->size());
  CO_TRY(const std::string one, co_await read_blob(*first, first->size() - size, size, kClass));
  const auto other = co_await read_blob(**second, first->size() - size, size, kClass);
  if (is_loss(other)) co_return false;
  if (!other) co_return std::unexpected(other.error());
  co_return one == *other;
}

Async<Result<std::unique_ptr<TableReader>>> BackupBlobs::open_table(BlobStore& store, BlobId id) {
  CO_TRY(std::unique_ptr<Blob> blob, co_await open_blob(store, id));
  co_return co_await TableReader::open(std::move(blob), loader_);
}

Async<Result<void>> BackupBlobs::read_entries(BlobStore& store, BlobId id) {
  CO_TRY(std::unique_ptr<TableReader> table, co_await open_table(store, id));
  TableIterator it(*table, TableIteratorOptions::for_compaction());
  int slice = 0;
  for (Step step = it.seek(""); step != Step::end;) {
    if (step == Step::failed) co_return std::unexpected(it.error());
    if (step == Step::blocked) {
      CO_TRY_VOID(check_cancelled());
      co_await load_blocks(it);
      step = it.resume();
      continue;
    }
    if (++slice % kSliceEntries == 0) co_await yield_now();
    step = it.next();
  }
  co_return Result<void>();
}

}  // namespace cellar::engine
