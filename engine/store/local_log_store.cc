#include "engine/store/local_log_store.h"

#include "engine/store/local_log.h"
#include "engine/store/log_files.h"
#include "engine/store/log_reader.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

Async<Result<void>> remove_file(FileSystem& fs, std::string path) {
  auto removed = co_await fs.remove(path);
  if (!removed && removed.error().code != Errc::not_found) co_return removed;
  co_return Result<void>();
}

// REQUIRES: the gone mark of the log is durable.
Async<Result<void>> remove_remains(FileSystem& fs, LogId id, LogFiles files) {
  for (const uint64_t segment : files.segments) {
    CO_TRY_VOID(co_await remove_file(fs, segment_path(id, segment)));
  }
  for (const uint64_t segment : files.temporary) {
    CO_TRY_VOID(co_await remove_file(fs, segment_path(id, segment) + ".tmp"));
  }
  const std::string directory(kLogDirectory);
  CO_TRY_VOID(co_await fs.sync_dir(directory));
  CO_TRY_VOID(co_await remove_file(fs, gone_path(id)));
  co_return Result<void>();
}

}  // namespace

LocalLogStore::LocalLogStore(FileSystem& fs, Runtime& runtime, LogOptions options)
    : fs_(fs), runtime_(runtime), options_(options) {
  CHECK(options.segment_bytes % kIoAlignment == 0 && options.segment_bytes >= 4 * kIoAlignment &&
            options.batch_bytes % kIoAlignment == 0 && options.batch_bytes >= kIoAlignment,
        "log segments of {} bytes, batches of {}", options.segment_bytes, options.batch_bytes);
}

Async<Result<std::unique_ptr<Log>>> LocalLogStore::create(LogId id) {
  const std::string directory(kLogDirectory);
  const std::string root;
  CO_TRY_VOID(co_await fs_.create_dir(directory));
  CO_TRY_VOID(co_await fs_.sync_dir(root));
  CO_TRY(const auto logs, co_await list_log_files(fs_));
  if (logs.contains(id)) co_return fail(Errc::already_exists, "log {:x} exists", id.value());
  auto log = std::make_unique<LocalLog>(fs_, runtime_, id, options_);
  CO_TRY_VOID(co_await log->start());
  co_return std::unique_ptr<Log>(std::move(log));
}

Async<Result<std::vector<LogId>>> LocalLogStore::list() {
  CO_TRY(const auto logs, co_await list_log_files(fs_));
  std::vector<LogId> ids;
  for (const auto& [id, files] : logs) {
    if (!files.gone && !files.segments.empty()) ids.push_back(id);
  }
  co_return ids;
}

Async<Result<LogReadReport>> LocalLogStore::read(LogId id, LogPosition from, LogVisitor& visitor) {
  CO_TRY(const auto logs, co_await list_log_files(fs_));
  const auto it = logs.find(id);
  if (it == logs.end() || it->second.gone) {
    co_return fail(Errc::not_found, "log {:x} does not exist", id.value());
  }
  LogReader reader(fs_, id, from, visitor);
  co_return co_await reader.run(it->second.segments);
}

Async<Result<void>> LocalLogStore::fence(LogId id) {
  (void)id;  // the lock of the data directory fences: nobody else runs
  co_return Result<void>();
}

Async<Result<void>> LocalLogStore::remove(LogId id) {
  CO_TRY(auto logs, co_await list_log_files(fs_));
  const auto it = logs.find(id);
  if (it == logs.end()) co_return Result<void>();
  // The mark comes first, so that a crash in between never leaves a log with holes.
  const std::string mark = gone_path(id);
  if (!it->second.gone) CO_TRY_VOID(co_await replace_file(fs_, mark, std::string()));
  co_return co_await remove_remains(fs_, id, std::move(it->second));
}

}  // namespace cellar::engine
