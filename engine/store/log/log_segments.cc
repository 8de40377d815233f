#include "engine/store/log/log_segments.h"

#include <utility>

#include "engine/store/file/record_file.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

std::string aside_path(std::string_view segment) {
  return std::string(segment) + std::string(kTemporarySuffix);
}

}  // namespace

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
          this),
      stuck_retry_(
          runtime.timers,
          [](void* context) {
            auto* self = static_cast<LogSegments*>(context);
            self->stuck_due_ = true;
            self->work_.set();
          },
          this) {
  for (FileWrite& write : writes_) write.done = &LogSegments::on_write;
}

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

void LogSegments::submit(SinkWrite& write) {
  const uint64_t segment = write.position / options_.segment_bytes;
  const auto file = files_.find(segment);
  const auto slot = std::ranges::find(writes_, nullptr, &FileWrite::batch);
  CHECK(file != files_.end() && slot != writes_.end(), "a write at {} of log {:x}", write.position,
        log_.value());
  if (segment > in_use_) {
    in_use_ = segment;
    work_.set();
  }
  slot->batch = &write;
  slot->start(*file->second.file, write.position % options_.segment_bytes, write.bytes,
              IoClass::log, true);
}

void LogSegments::on_write(FullWrite& finished) {
  auto& slot = static_cast<FileWrite&>(finished);
  SinkWrite& write = *std::exchange(slot.batch, nullptr);
  if (slot.error) write.error = std::move(slot.error);
  write.done(write);
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
    if (std::exchange(stuck_due_, false)) {
      co_await free_stuck();
      continue;
    }
    work_.reset();
    co_await work_.wait();
  }
  retry_.cancel();
  start_spare_retry_.cancel();
  stuck_retry_.cancel();
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
    if (ready_callback_ != nullptr) ready_callback_(ready_context_);
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
  Result<void> closed = co_await file->close();
  if (closed) {
    auto reused = co_await reuse_record_file(fs_, old_path, path, header, IoClass::log);
    if (reused) {
      segment.file = std::move(*reused);
      co_return segment;
    }
    closed = std::unexpected(std::move(reused).error());
  }
  keep_stuck(old_path, closed.error());
  co_return std::unexpected(std::move(closed).error());
}

Async<void> LogSegments::dispose_of_first() {
  // From the oldest on, so that a crash leaves no gap.
  auto file = std::move(files_[first_].file);
  files_.erase(first_);
  const std::string path = segment_path(log_, first_);
  ++first_;
  auto closed = co_await file->close();
  if (!closed) log_warn("store", "{}", closed.error().to_string());
  co_await set_aside(path);
}

// Renames the segment and removes it in the background; if it cannot be renamed, later.
Async<void> LogSegments::set_aside(std::string path) {
  auto renamed = co_await put_aside(path);
  if (!renamed) {
    keep_stuck(std::move(path), renamed.error());
    co_return;
  }
  ++removing_;
  spawn(executor_, remove(std::move(path)));
}

void LogSegments::keep_stuck(std::string path, const Error& why) {
  if (stuck_.empty()) log_warn("store", "{} cannot be removed yet: {}", path, why.to_string());
  stuck_.push_back(std::move(path));
  if (!stopping_) stuck_retry_.arm_after_us(kRemoveRetryUs);
}

Async<void> LogSegments::free_stuck() {
  for (std::string& path : std::exchange(stuck_, {})) co_await set_aside(std::move(path));
}

// The rename is durable before the file is truncated, because a named segment is complete.
Async<Result<void>> LogSegments::put_aside(std::string path) {
  auto renamed = co_await fs_.rename(path, aside_path(path));
  // An earlier attempt, or a reuse, may have renamed it.
  if (!renamed && renamed.error().code != Errc::not_found) co_return renamed;
  const std::string directory(kLogDirectory);
  co_return co_await fs_.sync_dir(directory);
}

// Of the segment that had this path.
Async<void> LogSegments::remove(std::string path) {
  auto removed = co_await removal_->remove(aside_path(path));
  --removing_;
  if (!removed) {
    keep_stuck(std::move(path), removed.error());
  }
  removed_.notify_all();
}

}  // namespace cellar::engine
