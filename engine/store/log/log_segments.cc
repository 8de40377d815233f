#include "engine/store/log/log_segments.h"

#include <utility>

#include "engine/store/file/record_file.h"
#include "io/base/log.h"

namespace cellar::engine {

LogSegments::LogSegments(FileSystem& fs, Runtime& runtime, FileRemovalRef removal, LogId log,
                         const LogOptions& options)
    : fs_(fs),
      removal_(std::move(removal)),
      log_(log),
      options_(options),
      executor_(runtime.executor),
      retry_(
          runtime.timers, [](void* self) { static_cast<LogSegments*>(self)->work_.set(); }, this),
      start_spare_(fs, log, options),
      start_spare_retry_(
          runtime.timers,
          [](void* context) {
            auto* self = static_cast<LogSegments*>(context);
            self->start_spare_due_ = true;
            self->work_.set();
          },
          this) {}

Async<Result<void>> LogSegments::start() {
  CO_TRY_VOID(co_await prepare_next());
  spawn(executor_, background());
  co_return Result<void>();
}

Async<void> LogSegments::stop() {
  stopping_ = true;
  retry_.cancel();
  start_spare_retry_.cancel();
  work_.set();
  co_await stopped_.wait();
  removal_->boost();
  while (removing_ > 0) co_await removed_.wait();
  for (auto& [number, segment] : files_) {
    auto closed = co_await segment.file->close();
    if (!closed) log_warn("store", "{}", closed.error().to_string());
  }
  files_.clear();
}

File* LogSegments::ready(uint64_t segment) const {
  const auto it = files_.find(segment);
  return it == files_.end() ? nullptr : it->second.file.get();
}

void LogSegments::enter(uint64_t segment) {
  if (segment <= in_use_) return;
  in_use_ = segment;
  work_.set();
}

void LogSegments::trim(uint64_t segment) {
  if (segment <= trimmed_) return;
  trimmed_ = segment;
  work_.set();
}

bool LogSegments::holds_former(uint64_t segment, uint64_t position) const {
  const auto it = files_.find(segment);
  if (it == files_.end() || !it->second.former) return false;
  return *it->second.former * options_.segment_bytes < position;
}

void LogSegments::on_ready(void (*callback)(void*), void* context) {
  ready_callback_ = callback;
  ready_context_ = context;
}

Async<void> LogSegments::background() {
  while (!stopping_) {
    if (wants_spare()) {
      auto prepared = co_await prepare_next();
      if (!prepared) retry_.arm_after_us(kPrepareRetryUs);
      continue;
    }
    if (disposable() > kKeptSegments || erases_first()) {
      co_await dispose_of_first();
      continue;
    }
    if (start_spare_due_) {
      co_await keep_start_spare();
      continue;
    }
    work_.reset();
    co_await work_.wait();
  }
  retry_.cancel();
  start_spare_retry_.cancel();
  stopped_.set();
}

Async<void> LogSegments::keep_start_spare() {
  start_spare_due_ = false;
  if (!co_await start_spare_.keep()) start_spare_retry_.arm_after_us(kStartSpareRetryUs);
}

Async<Result<void>> LogSegments::prepare_next() {
  FileHeader header;
  header.kind = RecordFileKind::log;
  header.id = log_.value();
  header.number = next_;
  header.file_bytes = options_.segment_bytes;
  const std::string path = segment_path(log_, next_);
  auto segment = co_await make_segment(header, path);
  if (!segment) {
    if (!failure_) {
      log_warn("store", "cannot prepare {}, will go on trying: {}", path,
               segment.error().to_string());
    }
    failure_ = segment.error();
    failure_->retry_after(kNoSpaceRetryMs);
    co_return std::unexpected(std::move(segment).error());
  }
  failure_.reset();
  files_[next_] = *std::move(segment);
  ++next_;
  if (ready_callback_ != nullptr) ready_callback_(ready_context_);
  co_return Result<void>();
}

Async<Result<LogSegments::Segment>> LogSegments::make_segment(FileHeader header, std::string path) {
  Segment segment;
  if (disposable() == 0 || erases_first()) {
    CO_TRY(segment.file, co_await prepare_record_file(fs_, path, header, IoClass::log));
    co_return segment;
  }
  // From the oldest on, see dispose_of_first().
  auto file = std::move(files_[first_].file);
  files_.erase(first_);
  const std::string old_path = segment_path(log_, first_);
  segment.former = first_++;
  header.former = segment.former;
  CO_TRY_VOID(co_await file->close());
  CO_TRY(segment.file, co_await reuse_record_file(fs_, old_path, path, header, IoClass::log));
  co_return segment;
}

Async<void> LogSegments::dispose_of_first() {
  // From the oldest on, so that a crash leaves no gap.
  auto file = std::move(files_[first_].file);
  files_.erase(first_);
  const std::string path = segment_path(log_, first_);
  const std::string aside = path + std::string(kTemporarySuffix);
  ++first_;
  auto closed = co_await file->close();
  if (!closed) log_warn("store", "{}", closed.error().to_string());
  auto renamed = co_await put_aside(path, aside);
  if (!renamed) {
    log_warn("store", "{} stays: {}", path, renamed.error().to_string());
    co_return;
  }
  ++removing_;
  spawn(executor_, remove(aside));
}

// The rename is durable before the file is truncated, because a named segment is complete.
Async<Result<void>> LogSegments::put_aside(std::string path, std::string aside) {
  CO_TRY_VOID(co_await fs_.rename(path, aside));
  const std::string directory(kLogDirectory);
  co_return co_await fs_.sync_dir(directory);
}

Async<void> LogSegments::remove(std::string path) {
  auto removed = co_await removal_->remove(path);
  if (!removed) log_warn("store", "{}", removed.error().to_string());
  --removing_;
  removed_.notify_all();
}

}  // namespace cellar::engine
