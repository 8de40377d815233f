#include "engine/store/blob/local_blob_store.h"

#include "engine/store/blob/blob_files.h"
#include "engine/store/blob/local_blob.h"
#include "engine/store/blob/local_blob_writer.h"

namespace cellar::engine {
namespace {

Async<Result<uint64_t>> size_of(FileSystem& fs, std::string path) {
  const OpenOptions options;
  CO_TRY(auto file, co_await fs.open(path, options));
  auto size = co_await file->size();
  auto closed = co_await file->close();
  if (size && !closed) co_return std::unexpected(std::move(closed).error());
  co_return size;
}

}  // namespace

Async<Result<std::unique_ptr<BlobWriter>>> LocalBlobStore::create(BlobId id,
                                                                  uint64_t expected_bytes,
                                                                  IoClass io_class) {
  removal_->begin_rests();
  if (!directory_made_) {
    const std::string directory(kBlobDirectory);
    const std::string root;
    CO_TRY_VOID(co_await fs_.create_dir(directory));
    CO_TRY_VOID(co_await fs_.sync_dir(root));
    directory_made_ = true;
  }
  const std::string sealed = blob_path(id);
  auto exists = co_await size_of(fs_, sealed);
  if (exists) co_return fail(Errc::already_exists, "blob {:x} exists", id.value());
  if (exists.error().code != Errc::not_found) co_return std::unexpected(exists.error());
  OpenOptions options;
  options.mode = OpenOptions::Mode::create_new;
  options.direct = true;
  const std::string path = unsealed_blob_path(id);
  CO_TRY(auto file, co_await fs_.open(path, options));
  auto writer = std::make_unique<LocalBlobWriter>(fs_, removal_, rate_, names_, id, std::move(file),
                                                  io_class);
  auto reserved = co_await writer->reserve(align_up(expected_bytes));
  if (!reserved) {
    auto abandoned = co_await writer->abandon();
    (void)abandoned;  // the first error is the answer
    co_return std::unexpected(std::move(reserved).error());
  }
  co_return writer;
}

Async<Result<std::unique_ptr<Blob>>> LocalBlobStore::open(BlobId id) {
  removal_->begin_rests();
  OpenOptions options;
  options.direct = true;
  const std::string path = blob_path(id);
  auto file = co_await fs_.open(path, options);
  if (!file && file.error().code == Errc::not_found) {
    co_return fail(Errc::not_found, "blob {:x} does not exist", id.value());
  }
  if (!file) co_return std::unexpected(std::move(file).error());
  auto size = co_await (*file)->size();
  if (!size) {
    auto closed = co_await (*file)->close();
    (void)closed;
    co_return std::unexpected(std::move(size).error());
  }
  co_return std::make_unique<LocalBlob>(id, *std::move(file), *size);
}

Async<Result<std::vector<BlobInfo>>> LocalBlobStore::list() {
  std::vector<BlobInfo> blobs;
  auto entries = co_await fs_.list(std::string(kBlobDirectory));
  if (!entries && entries.error().code == Errc::not_found) co_return blobs;
  if (!entries) co_return std::unexpected(std::move(entries).error());
  for (const DirEntry& entry : *entries) {
    const auto name = parse_blob_file(entry.name);
    if (!name || entry.is_dir) continue;
    blobs.push_back({name->id, entry.size, name->sealed});
  }
  co_return blobs;
}

Async<Result<void>> LocalBlobStore::remove(BlobId id) {
  const std::string sealed = blob_path(id);
  const std::string unsealed = unsealed_blob_path(id);
  for (const std::string* path : {&sealed, &unsealed}) {
    const std::string name = *path;
    CO_TRY_VOID(co_await removal_->remove(name));
  }
  co_return Result<void>();
}

}  // namespace cellar::engine
