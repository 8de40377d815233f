#include "engine/store/log/local_log_store.h"

#include "engine/store/file/record_file.h"
#include "engine/store/log/local_log.h"
#include "engine/store/log/log_files.h"
#include "engine/store/log/log_reader.h"
#include "engine/store/log/start_spare.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

LocalLogStore::LocalLogStore(FileSystem& fs, Runtime& runtime, LogOptions options)
    : fs_(fs),
      runtime_(runtime),
      options_(options),
      removal_(new FileRemoval(fs, &runtime.timers)) {
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
  LogOptions options = options_;
  options.segment_bytes = co_await StartSpare(fs_, id, options_).segment_bytes();
  if (options.segment_bytes < options_.segment_bytes) {
    log_warn("store", "log {:016x} has segments of {} bytes instead of {}: the disk is short",
             id.value(), options.segment_bytes, options_.segment_bytes);
  }
  auto log = std::make_unique<LocalLog>(fs_, runtime_, removal_, id, options);
  removal_->begin_rests();
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
  (void)id;  // the data directory's lock is the fence: no other process runs
  co_return Result<void>();
}

Async<Result<void>> LocalLogStore::remove(LogId id) {
  CO_TRY(auto logs, co_await list_log_files(fs_));
  const auto it = logs.find(id);
  if (it == logs.end()) co_return Result<void>();
  // The mark is written first, so that a crash never leaves a log with gaps.
  const std::string mark = gone_path(id);
  if (!it->second.gone) CO_TRY_VOID(co_await replace_file(fs_, mark, std::string()));
  co_return co_await remove_remains(id, std::move(it->second), removal_);
}

Async<Result<size_t>> LocalLogStore::remove_litter() {
  CO_TRY(auto logs, co_await list_log_files(fs_));
  const FileRemovalRef without_rests(new FileRemoval(fs_, nullptr));
  size_t removed = 0;
  for (auto& [id, files] : logs) {
    if (!files.gone) continue;
    CO_TRY_VOID(co_await remove_remains(id, std::move(files), without_rests));
    ++removed;
  }
  co_return removed;
}

// REQUIRES: the log's gone mark is durable, so that the remains are never read.
Async<Result<void>> LocalLogStore::remove_remains(LogId id, LogFiles files,
                                                  FileRemovalRef removal) {
  for (const uint64_t segment : files.segments) {
    const std::string path = segment_path(id, segment);
    CO_TRY_VOID(co_await removal->remove(path));
  }
  for (const uint64_t segment : files.temporary) {
    const std::string path = segment_path(id, segment) + std::string(kTemporarySuffix);
    CO_TRY_VOID(co_await removal->remove(path));
  }
  const std::string directory(kLogDirectory);
  CO_TRY_VOID(co_await fs_.sync_dir(directory));
  const std::string mark = gone_path(id);
  co_return co_await removal->remove(mark);
}

}  // namespace cellar::engine
