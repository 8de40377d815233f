#include "engine/store/file_removal.h"

#include <utility>

namespace cellar::engine {

FileRemoval::FileRemoval(FileSystem& fs, Timers* timers) : fs_(fs), timers_(timers) {}

Async<Result<void>> FileRemoval::remove(std::string path) {
  OpenOptions options;
  options.mode = OpenOptions::Mode::read_write;
  auto file = co_await fs_.open(path, options);
  if (!file && file.error().code == Errc::not_found) co_return Result<void>();
  // What cannot be opened or cut may still be removed.
  if (file) {
    auto shortened = co_await shorten(**file);
    auto closed = co_await (*file)->close();
    (void)shortened, (void)closed;
  }
  auto removed = co_await fs_.remove(path);
  if (!removed && removed.error().code != Errc::not_found) co_return removed;
  co_return Result<void>();
}

Async<Result<void>> FileRemoval::shorten(File& file) {
  CO_TRY(const uint64_t size, co_await file.size());
  if (size > kStepBytes) co_await step_down(file, size);
  co_return Result<void>();
}

Async<void> FileRemoval::step_down(File& file, uint64_t size) {
  waiting_bytes_ += size;
  {
    const AsyncMutex::Lock lock = co_await one_.lock();
    while (size > kStepBytes) {
      const uint64_t left = (size - 1) / kStepBytes * kStepBytes;
      const int64_t began_us = timers_ == nullptr ? 0 : timers_->now_us();
      auto cut = co_await file.truncate(left);
      if (!cut) break;
      waiting_bytes_ -= size - left;
      size = left;
      if (rests_) co_await rest(timers_->now_us() - began_us);
    }
  }
  waiting_bytes_ -= size;
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
