#include "engine/store/file/file_removal.h"

#include <utility>

namespace cellar::engine {

FileRemoval::FileRemoval(FileSystem& fs, Timers* timers) : fs_(fs), timers_(timers) {}

Async<Result<void>> FileRemoval::remove(std::string path) {
  OpenOptions options;
  options.mode = OpenOptions::Mode::read_write;
  auto file = co_await fs_.open(path, options);
  if (!file && file.error().code == Errc::not_found) co_return Result<void>();
  // A file that cannot be opened or truncated may still be removed.
  if (file) {
    auto shortened = co_await shorten(**file);
    auto closed = co_await (*file)->close();
    (void)shortened, (void)closed;
  }
  auto removed = co_await fs_.remove(path);
  if (!removed && removed.error().code != Errc::not_found) co_return removed;
  co_return Result<void>();
}

// Truncates the file in steps. The last step happens with the removal of the name.
Async<Result<void>> FileRemoval::shorten(File& file) {
  CO_TRY(const uint64_t size, co_await file.size());
  const uint64_t left = std::min(size, kStepBytes);
  Backlog backlog(*this, size - left);
  const AsyncMutex::Lock lock = co_await one_.lock();
  co_return co_await step_down(file, size, left, backlog);
}

Async<Result<void>> FileRemoval::cut(File& file, uint64_t size, uint64_t left) {
  const uint64_t last_step = std::min(size, left + kStepBytes);
  Backlog backlog(*this, size - last_step);
  CO_TRY_VOID(co_await step_down(file, size, last_step, backlog));
  co_return co_await file.truncate(left);
}

// Truncates to `left` bytes in steps with pauses.
Async<Result<void>> FileRemoval::step_down(File& file, uint64_t size, uint64_t left,
                                           Backlog& backlog) {
  while (size > left) {
    const uint64_t next = std::max(left, (size - 1) / kStepBytes * kStepBytes);
    const int64_t began_us = timers_ == nullptr ? 0 : timers_->now_us();
    CO_TRY_VOID(co_await file.truncate(next));
    backlog.done(size - next);
    size = next;
    if (rests_) co_await rest(timers_->now_us() - began_us);
  }
  co_return Result<void>();
}

Async<void> FileRemoval::rest(int64_t took_us) {
  const int64_t until_us = timers_->now_us() + rest_us(took_us, waiting_bytes_);
  Timer alarm(
      *timers_, [](void* self) { static_cast<FileRemoval*>(self)->woken_.notify_all(); }, this);
  while (rests_ && timers_->now_us() < until_us) {
    alarm.arm_after_us(until_us - timers_->now_us());
    co_await woken_.wait();
  }
}

}  // namespace cellar::engine
