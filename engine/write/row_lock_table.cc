#include "engine/write/row_lock_table.h"

#include <utility>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

constexpr uint32_t kLockedRetryMs = 100;

}  // namespace

bool RowLockTable::touches_open_row(const RangeDelete& range) const {
  const auto first = open_.lower_bound(range.start);
  return first != open_.end() && (range.end.empty() || Bytes(first->first) < range.end);
}

// The queue that a write to the row must join; null: it need not wait.
RowLockTable::Queue* RowLockTable::queue_for(Bytes row) {
  if (held_ || !behind_.empty()) return &behind_;
  const auto it = open_.find(row);
  return it == open_.end() ? nullptr : &it->second;
}

Result<void> RowLockTable::check_room(size_t bytes) const {
  if (waiting_ < kMaxWaiting && (waiting_bytes_ == 0 || waiting_bytes_ + bytes <= kMaxWaitingBytes))
    return {};
  return std::unexpected(
      Error(
          Errc::resource_exhausted,
          fmt::format("{} writes with {} bytes wait behind conditional ones or a change of rules; "
                      "the bounds are {} and {} bytes",
                      waiting_, waiting_bytes_, kMaxWaiting, kMaxWaitingBytes))
          .retry_after(kLockedRetryMs));
}

Result<bool> RowLockTable::wait_in(Queue& queue, std::unique_ptr<WaitingWrite> waiting) {
  waiting_bytes_ += waiting->size();
  queue.push_back(std::move(waiting));
  ++waiting_;
  return true;
}

Result<bool> RowLockTable::delay(Write& write) {
  Queue* queue = nullptr;
  if (!write.range) {
    queue = queue_for(write.mutation.row);
  } else if (held_ || !behind_.empty() || touches_open_row(*write.range)) {
    queue = &behind_;
  }
  if (queue == nullptr) return false;
  TRY_VOID(check_room(copied_bytes(write)));
  return wait_in(*queue, copy_of(write));
}

Result<bool> RowLockTable::delay(ConditionalWrite& write) {
  Queue* queue = queue_for(write.row);
  if (queue == nullptr) return false;
  TRY_VOID(check_room(0));
  return wait_in(*queue, waiting_of(write));
}

void RowLockTable::open(Bytes row) {
  const bool opened = open_.try_emplace(std::string(row)).second;
  CHECK(opened, "row '{}' is open already", escape_bytes(row));
}

bool RowLockTable::submit(WaitingWrite& waiting) {
  --waiting_;
  waiting_bytes_ -= waiting.size();
  if (waiting.conditional != nullptr) return host_.submit_waiting(*waiting.conditional);
  host_.submit_waiting(*waiting.write);
  return true;
}

// The row stays open while its queue is processed, so that later arrivals join the end.
void RowLockTable::close(Bytes row) {
  const std::string key(row);
  while (true) {
    const auto it = open_.find(key);
    CHECK(it != open_.end(), "row '{}' is not open", escape_bytes(key));
    if (it->second.empty()) break;
    const std::unique_ptr<WaitingWrite> first = std::move(it->second.front());
    it->second.pop_front();
    if (!submit(*first)) return;  // it has opened the row itself
  }
  open_.erase(key);
  drain_behind();
  if (open_.empty()) quiet_.notify_all();
}

void RowLockTable::hold() {
  CHECK(!held_, "the writes of a tablet are held twice");
  held_ = true;
}

Async<void> RowLockTable::closed() {
  while (held_ && !open_.empty()) co_await quiet_.wait();
}

void RowLockTable::release() {
  CHECK(held_, "writes are released that were not held");
  held_ = false;
  drain_behind();
  quiet_.notify_all();
}

Async<void> RowLockTable::drained() {
  while (!idle()) co_await quiet_.wait();
}

void RowLockTable::drain_behind() {
  while (!behind_.empty() && !held_) {
    WaitingWrite& front = *behind_.front();
    if (front.write != nullptr && front.write->range) {
      if (touches_open_row(*front.write->range)) return;
    } else if (const auto it = open_.find(front.row()); it != open_.end()) {
      it->second.push_back(std::move(behind_.front()));
      behind_.pop_front();
      continue;
    }
    const std::unique_ptr<WaitingWrite> first = std::move(behind_.front());
    // It stays in front until it is finished, so that later arrivals wait for it.
    const bool through = submit(*first);
    behind_.pop_front();
    if (!through) open(first->conditional->row);
  }
}

}  // namespace cellar::engine
