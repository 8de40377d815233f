#include "engine/store/log/local_log.h"

#include <algorithm>
#include <utility>

#include "io/base/coding.h"
#include "io/loop/waiter.h"

namespace cellar::engine {

std::array<char, kLogEntryHeadBytes> encode_entry_head(const LogEntry& entry) {
  std::array<char, kLogEntryHeadBytes> head;
  store_le(head.data(), entry.tablet.value());
  store_le(head.data() + 8, entry.epoch.value());
  store_le(head.data() + 16, entry.stamp.value());
  return head;
}

Result<LogEntry> decode_entry(Bytes bytes) {
  Reader in(bytes);
  LogEntry entry;
  entry.tablet = TabletId{in.u64()};
  entry.epoch = Epoch{in.u64()};
  entry.stamp = CommitStamp{in.u64()};
  entry.payload = in.rest();
  if (!in.ok()) {
    return fail(Errc::data_loss, "a log entry of {} bytes is too short", bytes.size());
  }
  return entry;
}

LocalLog::LocalLog(FileSystem& fs, Runtime& runtime, FileRemovalRef removal, LogId id,
                   const LogOptions& options)
    : id_(id),
      timers_(runtime.timers),
      segments_(fs, runtime, std::move(removal), id, options),
      commits_(segments_, runtime, id, options) {}

Async<Result<void>> LocalLog::start() {
  CO_TRY_VOID(co_await segments_.start());
  commits_.start();
  co_return Result<void>();
}

Result<void> LocalLog::append(const LogEntry& entry, LogAppend& append) {
  if (sealed_) return fail(Errc::unavailable, "log {:x} is sealed", id_.value());
  if (entry.payload.size() > kMaxLogEntryBytes) {
    return fail(Errc::invalid_argument, "a log entry of {} bytes is longer than {}",
                entry.payload.size(), kMaxLogEntryBytes);
  }
  const auto head = encode_entry_head(entry);
  return commits_.append(Bytes(head.data(), head.size()), entry.payload, append);
}

void LocalLog::trim(LogPosition position) {
  const uint64_t upto = std::min(position.value(), commits_.durable_end());
  const uint64_t segment = upto / segments_.segment_bytes();
  if (segment <= trim_wanted_ || sealed_) return;
  trim_wanted_ = segment;
  if (!trim_in_flight_) write_trim();
}

void LocalLog::write_trim() {
  trim_in_flight_ = true;
  trim_writing_ = trim_wanted_;
  trim_append_.context = this;
  trim_append_.done = [](LogAppend& self) { static_cast<LocalLog*>(self.context)->trim_written(); };
  char payload[8];
  store_le(payload, trim_writing_ * segments_.segment_bytes());
  commits_.append_control(RecordType::trim, Bytes(payload, sizeof payload), trim_append_);
}

void LocalLog::trim_written() {
  trim_in_flight_ = false;
  if (trim_append_.failure != nullptr) return;
  segments_.trim(trim_writing_);
  if (trim_wanted_ > trim_writing_ && !sealed_) write_trim();
}

// A segment holds the records written to it, followed by old data of its file. Filling it to its
// end overwrites the old data and lets the records be trimmed.
Async<Result<LogPosition>> LocalLog::erase(LogPosition position) {
  const uint64_t before = std::min(position.value(), commits_.end());
  const uint64_t size = segments_.segment_bytes();
  segments_.erase_before(before);
  while (erases_ && !sealed_) {
    if (commits_.failure() != nullptr) co_return std::unexpected(*commits_.failure());
    const uint64_t at = commits_.next_begin();
    const uint64_t segment = at / size;
    // While a segment is being prepared it is not known to be ready, and commits need it.
    if (!segments_.is_ready(at % size == 0 ? segment : segment + 1)) {
      co_await sleep_us(timers_, kFillWaitUs);
      continue;
    }
    const bool clean = segment * size >= before && !segments_.holds_former(segment, before) &&
                       !segments_.holds_former(segment + 1, before);
    if (clean) co_return LogPosition{segment * size};
    co_await fill_piece();
  }
  co_return fail(Errc::cancelled, "log {:x} is closed", id_.value());
}

Async<void> LocalLog::fill_piece() {
  Waiter resumed;
  LogAppend piece;
  piece.context = &resumed;
  piece.done = [](LogAppend& self) { static_cast<Waiter*>(self.context)->resume(); };
  const int64_t began_us = timers_.now_us();
  commits_.append_filler(piece);
  co_await resumed.wait();
  // Limits the share of time, like file removal.
  co_await sleep_us(timers_, FileRemoval::rest_us(timers_.now_us() - began_us, 0));
}

Async<Result<LogPosition>> LocalLog::seal() {
  if (sealed_) co_return fail(Errc::unavailable, "log {:x} is sealed already", id_.value());
  sealed_ = true;
  commits_.give_up_waiting_for_space();
  const LogPosition end{commits_.end()};
  Result<void> flushed = co_await commits_.flush();
  if (flushed) {
    // Its durable mark, which covers everything, is the closing mark.
    Waiter resumed;
    LogAppend closing;
    closing.context = &resumed;
    closing.done = [](LogAppend& self) { static_cast<Waiter*>(self.context)->resume(); };
    commits_.append_control(RecordType::seal, Bytes(), closing);
    co_await resumed.wait();
    if (closing.failure != nullptr) flushed = std::unexpected(*closing.failure);
  }
  co_await commits_.stop();
  co_await segments_.stop();
  if (!flushed) co_return std::unexpected(std::move(flushed).error());
  co_return end;
}

}  // namespace cellar::engine
