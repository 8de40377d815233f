#include "engine/repair/repair.h"

#include "engine/catalog/catalog.h"
#include "engine/manifest/whole_manifest.h"
#include "engine/repair/repair_work.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "engine/store/local/local_stores.h"
#include "engine/store/local/unfinished_directory.h"
#include "engine/store/manifest/manifest_file.h"

namespace cellar::engine {
namespace {

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

Async<Result<void>> write_manifest(RepairWork& work) {
  for (auto& [key, entry] : work.entries) entry.version = 1;  // there, for the check
  if (const auto sound = decode_manifest(work.entries); !sound) {
    co_return fail(Errc::internal, "the new manifest is not sound: {}", sound.error().message);
  }
  CO_TRY(const auto store, co_await open_local_manifest_store(work.to, {}));
  const Result<void> written = co_await write_whole_manifest(*store, work.entries);
  const Result<void> closed = co_await store->close();
  if (!written) co_return written;
  co_return closed;
}

Async<Result<void>> run(RepairWork& work) {
  CO_TRY_VOID(co_await check_format(work));
  CO_TRY_VOID(co_await begin_directory(work.to));
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
  co_return co_await finish_directory(work.to, work.options.id);
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
