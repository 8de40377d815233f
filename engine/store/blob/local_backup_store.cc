#include <algorithm>

#include "engine/store/backup_store.h"
#include "engine/store/blob/local_blob_store.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kDirectory = "backups";
constexpr std::string_view kSuffix = ".backup";
constexpr std::string_view kSourcePath = "SOURCE";

class LocalBackupStore final : public BackupStore {
 public:
  explicit LocalBackupStore(FileSystem& fs) : fs_(fs), blobs_(fs) {}

  Async<Result<void>> claim(std::string source) override {
    auto owner = co_await read_file(fs_, std::string(kSourcePath));
    if (owner) {
      // Also if it is assigned already: an earlier claim may not be durable.
      if (*owner == source + "\n") co_return co_await make_directory();
      co_return fail(Errc::failed_precondition,
                     "{} says that the backups here are of another data directory; take a "
                     "directory of its own for each node",
                     kSourcePath);
    }
    if (owner.error().code != Errc::not_found) co_return std::unexpected(owner.error());
    CO_TRY_VOID(co_await make_directory());
    co_return co_await replace_file(fs_, std::string(kSourcePath), source + "\n");
  }

  Async<Result<std::vector<std::string>>> names() override {
    std::vector<std::string> names;
    auto entries = co_await fs_.list(std::string(kDirectory));
    if (!entries && entries.error().code == Errc::not_found) co_return names;
    if (!entries) co_return std::unexpected(std::move(entries).error());
    for (const DirEntry& entry : *entries) {
      if (entry.is_dir || !entry.name.ends_with(kSuffix)) continue;
      names.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
    }
    std::ranges::sort(names);  // the suffix orders files in another way
    co_return names;
  }

  Async<Result<std::string>> read(std::string name) override {
    CO_TRY_VOID(check_backup_name(name));
    auto content = co_await read_file(fs_, backup_path(name));
    if (!content && content.error().code == Errc::not_found) {
      co_return fail(Errc::not_found, "there is no backup '{}' ({})", name, backup_path(name));
    }
    co_return content;
  }

  Async<Result<void>> write(std::string name, std::string content) override {
    CO_TRY_VOID(check_backup_name(name));
    CO_TRY_VOID(co_await make_directory());
    co_return co_await replace_file(fs_, backup_path(name), std::move(content));
  }

  Async<Result<void>> remove(std::string name) override {
    CO_TRY_VOID(check_backup_name(name));
    const Result<void> removed = co_await fs_.remove(backup_path(name));
    if (!removed && removed.error().code != Errc::not_found) co_return removed;
    // Also if it is absent: an earlier removal may not be durable.
    auto synced = co_await fs_.sync_dir(std::string(kDirectory));
    if (!removed && !synced && synced.error().code == Errc::not_found) co_return Result<void>();
    co_return synced;
  }

  BlobStore& blobs() override { return blobs_; }

 private:
  // Durable, with all else in the root.
  Async<Result<void>> make_directory() {
    CO_TRY_VOID(co_await fs_.create_dir(std::string(kDirectory)));
    const std::string root;
    co_return co_await fs_.sync_dir(root);
  }

  FileSystem& fs_;
  LocalBlobStore blobs_;
};

}  // namespace

std::unique_ptr<BackupStore> make_local_backup_store(FileSystem& fs) {
  return std::make_unique<LocalBackupStore>(fs);
}

}  // namespace cellar::engine
