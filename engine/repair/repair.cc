#include "engine/repair/repair.h"

#include "engine/catalog/catalog.h"
#include "engine/repair/repair_work.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "engine/store/local/local_stores.h"
#include "engine/store/manifest/manifest_file.h"

namespace cellar::engine {
namespace {

// Bytes of one edit of the new manifest, unless one entry is larger.
constexpr size_t kEditBytes = kMaxEditBytes / 4;

// A FORMAT that is damaged or missing, or that the device does not read, is damage.
Async<Result<void>> check_format(RepairWork& work) {
  CO_TRY_VOID(co_await check_source(work.from));
  const auto format = co_await read_format(work.from);
  if (format) co_return Result<void>();
  const std::string missing = fmt::format("{} is missing", kFormatPath);
  const bool is_missing = format.error().message.starts_with(missing);
  const bool is_read = format.error().code == Errc::data_loss;
  std::string damaged = fmt::format("{} is damaged", kFormatPath);
  if (!is_read) damaged = format.error().message;
  work.report.damage.push_back(is_missing ? missing : std::move(damaged));
  co_return Result<void>();
}

Async<Result<void>> begin_target(FileSystem& to) {
  for (const std::string_view folder : {kManifestDirectory, kLogDirectory, kBlobDirectory}) {
    const std::string path(folder);
    CO_TRY_VOID(co_await to.create_dir(path));
  }
  const std::string root;
  CO_TRY_VOID(co_await to.sync_dir(root));
  const std::string marker(kUnfinishedPath);
  co_return co_await replace_file(to, marker, "a repair has not ended\n");
}

size_t bytes_of(const ManifestEntry& entry) {
  size_t bytes = entry.state.size();
  for (const auto& [item, value] : entry.items) bytes += value.size();
  return bytes;
}

Async<Result<void>> write_entries(ManifestStore& store, const RepairWork& work) {
  CatalogEdit all;
  size_t bytes = 0;
  for (const auto& [key, entry] : work.entries) {
    VersionEdit edit = put_state(key, kAbsent, entry.state);
    edit.put_items.assign(entry.items.begin(), entry.items.end());
    bytes += bytes_of(entry);
    all.changes.push_back(std::move(edit));
    if (bytes < kEditBytes) continue;
    CO_TRY_VOID(co_await store.commit(std::exchange(all, {})));
    bytes = 0;
  }
  if (!all.changes.empty()) CO_TRY_VOID(co_await store.commit(std::move(all)));
  co_return Result<void>();
}

Async<Result<void>> write_manifest(RepairWork& work) {
  for (auto& [key, entry] : work.entries) entry.version = 1;  // there, for the check
  if (const auto sound = decode_manifest(work.entries); !sound) {
    co_return fail(Errc::internal, "the new manifest is not sound: {}", sound.error().message);
  }
  CO_TRY(const auto store, co_await open_local_manifest_store(work.to, {}));
  const Result<void> written = co_await write_entries(*store, work);
  const Result<void> closed = co_await store->close();
  if (!written) co_return written;
  co_return closed;
}

// From here on a node accepts the directory.
Async<Result<void>> end_target(RepairWork& work) {
  const std::string marker(kUnfinishedPath);
  CO_TRY_VOID(co_await work.to.remove(marker));
  for (const std::string_view folder : {kManifestDirectory, kLogDirectory, kBlobDirectory}) {
    const std::string path(folder);
    CO_TRY_VOID(co_await work.to.sync_dir(path));
  }
  const std::string format(kFormatPath);
  co_return co_await replace_file(work.to, format, encode_format({.id = work.options.id}));
}

Async<Result<void>> run(RepairWork& work) {
  CO_TRY_VOID(co_await check_format(work));
  CO_TRY_VOID(co_await begin_target(work.to));
  CO_TRY(work.manifest, co_await salvage_manifest(work.from));
  RepairReport& report = work.report;
  report.manifest_decides = work.manifest.decides;
  report.manifest = work.manifest.path;
  for (std::string& sentence : work.manifest.damage) report.damage.push_back(std::move(sentence));
  CO_TRY(work.logs, co_await list_log_files(work.from));
  std::erase_if(work.logs, [](const auto& log) { return log.second.gone; });
  if (work.manifest.decides) {
    CO_TRY_VOID(co_await repair_known(work));
  } else {
    CO_TRY_VOID(co_await repair_unknown(work));
  }
  for (const RepairedTable& table : report.tables) report.bytes += table.bytes;
  if (report.nothing()) co_return Result<void>();
  CO_TRY_VOID(co_await write_manifest(work));
  co_return co_await end_target(work);
}

}  // namespace

Async<Result<void>> check_source(FileSystem& from) {
  const auto format = co_await read_format(from);
  if (!format && format.error().code == Errc::failed_precondition) {
    co_return std::unexpected(format.error());
  }
  if (format && !*format) {
    co_return fail(Errc::failed_precondition, "no data directory: it has no {} and no data",
                   kFormatPath);
  }
  co_return Result<void>();
}

Async<Result<RepairReport>> repair_directory(FileSystem& from, FileSystem& to, Timers& timers,
                                             ShardExecutor executor, RepairOptions options) {
  RepairWork work(from, to, timers, executor, std::move(options));
  work.report.id = work.options.id;
  CO_TRY_VOID(co_await run(work));
  co_return std::move(work.report);
}

}  // namespace cellar::engine
