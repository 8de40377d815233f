#include "engine/store/local/unfinished_directory.h"

#include <array>

#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

constexpr std::array kFolders = {kManifestDirectory, kLogDirectory, kBlobDirectory};

Async<Result<void>> remove_if_there(FileSystem& fs, std::string path) {
  auto removed = co_await fs.remove(std::move(path));
  if (!removed && removed.error().code == Errc::not_found) co_return Result<void>();
  co_return removed;
}

Async<Result<void>> sync_folders(FileSystem& fs) {
  for (const std::string_view folder : kFolders) {
    CO_TRY_VOID(co_await fs.sync_dir(std::string(folder)));
  }
  co_return Result<void>();
}

}  // namespace

Async<Result<void>> begin_directory(FileSystem& fs) {
  for (const std::string_view folder : kFolders) {
    CO_TRY_VOID(co_await fs.create_dir(std::string(folder)));
  }
  CO_TRY_VOID(co_await fs.sync_dir(std::string()));
  CO_TRY_VOID(co_await replace_file(fs, std::string(kUnfinishedPath),
                                    "what fills this directory has not ended\n"));
  CO_TRY_VOID(co_await remove_if_there(fs, std::string(kFormatPath)));
  co_return co_await fs.sync_dir(std::string());
}

Async<Result<bool>> is_unfinished(FileSystem& fs) {
  const auto marker = co_await read_file(fs, std::string(kUnfinishedPath));
  if (!marker && marker.error().code != Errc::not_found) {
    co_return std::unexpected(marker.error());
  }
  if (!marker) co_return false;
  const auto format = co_await read_file(fs, std::string(kFormatPath));
  if (format) co_return false;
  if (format.error().code != Errc::not_found) co_return std::unexpected(format.error());
  co_return true;
}

Async<Result<void>> clear_unfinished(FileSystem& fs) {
  CO_TRY(const bool unfinished, co_await is_unfinished(fs));
  CHECK(unfinished, "a finished data directory is cleared");
  for (const std::string_view folder : kFolders) {
    CO_TRY(const std::vector<DirEntry> files, co_await fs.list(std::string(folder)));
    for (const DirEntry& file : files) {
      const std::string path = fmt::format("{}/{}", folder, file.name);
      if (path != kUnfinishedPath) CO_TRY_VOID(co_await fs.remove(path));
    }
  }
  co_return co_await sync_folders(fs);
}

Async<Result<void>> finish_directory(FileSystem& fs, std::string id) {
  CO_TRY_VOID(co_await fs.remove(std::string(kUnfinishedPath)));
  CO_TRY_VOID(co_await sync_folders(fs));
  co_return co_await replace_file(fs, std::string(kFormatPath),
                                  encode_format({.id = std::move(id)}));
}

}  // namespace cellar::engine
