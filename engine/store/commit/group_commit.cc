#include "engine/store/commit/group_commit.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"
#include "io/base/log.h"
#include "io/loop/loop_of.h"
#include "io/loop/waiter.h"

namespace cellar::engine {

GroupCommit::GroupCommit(LogSink& sink, Runtime& runtime, LogId log, const LogOptions& options)
    : sink_(sink),
      options_(options),
      owner_(record_owner(RecordFileKind::log, log.value())),
      executor_(runtime.executor),
      timers_(runtime.timers),
      next_position_(sink.segment_head_bytes()),
      periodic_(
          runtime.timers,
          [](void* context) {
            auto* self = static_cast<GroupCommit*>(context);
            self->force_ = true;
            self->wake();
          },
          this),
      closing_mark_(
          runtime.timers, [](void* self) { static_cast<GroupCommit*>(self)->write_closing_mark(); },
          this) {
  for (Write& write : ring_) {
    write.owner = this;
    write.done = &GroupCommit::on_write;
  }
}

void GroupCommit::start() {
  sink_.on_ready([](void* self) { static_cast<GroupCommit*>(self)->wake(); }, this);
  loop_ = &loop_of(executor_);
  loop_->add_hook(*this);
}

Async<void> GroupCommit::stop() {
  stopping_ = true;
  periodic_.cancel();
  closing_mark_.cancel();
  while (writes_ > 0) co_await quiet_.wait();
  if (loop_ != nullptr) loop_->remove_hook(*this);
  loop_ = nullptr;
}

void GroupCommit::give_up_waiting_for_space() {
  impatient_ = true;
  wake();
}

Result<void> GroupCommit::admit(size_t bytes) const {
  if (failure_) {
    Error refused = *failure_;
    refused.applied = Applied::not_applied;
    return std::unexpected(std::move(refused));
  }
  const uint64_t pending = appended_end_ > durable_end_ ? appended_end_ - durable_end_ : 0;
  if (pending > options_.max_pending_bytes) {
    return std::unexpected(Error(Errc::resource_exhausted,
                                 fmt::format("{} bytes wait for the log's disk, the bound is {}",
                                             pending, options_.max_pending_bytes))
                               .retry_after(kOverloadRetryMs));
  }
  const Error* no_more = sink_.failure();
  if (no_more == nullptr) return {};
  // A batch adds at most one header and one block of filler; control records must fit after it.
  const uint64_t batches = 2 + bytes / options_.batch_bytes;
  const uint64_t reserve = std::min(kControlReserveBytes, options_.segment_bytes / 4);
  const uint64_t worst_end = std::max(appended_end_, next_position_) + bytes +
                             batches * (kRecordHeaderBytes + kIoAlignment) + reserve;
  if (worst_end > sink_.ready_end()) return std::unexpected(*no_more);
  return {};
}

Result<void> GroupCommit::append(Bytes head, Bytes body, LogAppend& waiter) {
  TRY_VOID(admit(head.size() + body.size()));
  add_record(RecordType::data, head, body);
  enqueue(waiting_, waiter);
  if (waiter.level == Durability::periodic && !periodic_.armed()) {
    periodic_.arm_after_us(options_.periodic_interval_us);
  }
  return {};
}

void GroupCommit::append_control(RecordType type, Bytes payload, LogAppend& waiter) {
  if (!failure_) add_record(type, payload, Bytes());
  waiter.level = Durability::sync;
  enqueue(controls_, waiter);
}

void GroupCommit::append_filler(LogAppend& waiter) {
  static const std::string zeros(kFillBytes, '\0');
  if (!failure_) {
    if (open_ && open_->bytes.room() == 0) seal_batch();
    if (!open_) open_batch();
    const size_t bytes = std::min(kFillBytes, open_->bytes.room());
    open_->bytes.add(RecordType::filler, kFirstFragment, durable_end_, Bytes(zeros.data(), bytes),
                     Bytes());
    open_->mark = durable_end_;
    appended_end_ = open_->bytes.end();
    if (open_->bytes.room() == 0) {
      seal_batch();
      appended_end_ = next_position_;  // so that a full segment may be trimmed
    }
  }
  waiter.level = Durability::sync;
  enqueue(controls_, waiter);
}

uint64_t GroupCommit::next_begin() const {
  if (!open_) return next_position_;
  const uint64_t end = open_->bytes.end();
  return open_->bytes.room() == 0 ? align_up(end) : end;
}

void GroupCommit::open_batch() {
  const uint64_t segment_bytes = sink_.segment_bytes();
  if (next_position_ % segment_bytes == 0) next_position_ += sink_.segment_head_bytes();
  const uint64_t rest = segment_bytes - next_position_ % segment_bytes;
  const auto capacity = static_cast<size_t>(std::min<uint64_t>(options_.batch_bytes, rest));
  AlignedBuffer buffer;
  if (pool_.empty()) {
    buffer = AlignedBuffer(options_.batch_bytes);
  } else {
    buffer = std::move(pool_.back());
    pool_.pop_back();
  }
  open_.emplace(Batch{.bytes = BatchBuilder(std::move(buffer), capacity, owner_, next_position_),
                      .depth = depth_.begin(),
                      .opened_us = timers_.now_us()});
}

void GroupCommit::seal_batch() {
  open_->bytes.close(durable_end_);
  next_position_ = open_->bytes.end();
  sealed_.push_back(*std::move(open_));
  open_.reset();
  force_ = false;
  periodic_.cancel();
}

void GroupCommit::add_record(RecordType type, Bytes head, Bytes body) {
  uint8_t flags = kFirstFragment;
  for (;;) {
    if (open_ && open_->bytes.room() == 0) seal_batch();
    if (!open_) open_batch();
    const size_t taken = open_->bytes.add(type, flags, durable_end_, head, body);
    appended_end_ = open_->bytes.end();
    open_->mark = durable_end_;
    if (type != RecordType::mark) open_->has_data = true;
    if (taken == head.size() + body.size()) return;
    flags = 0;
    const size_t of_head = std::min(taken, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(taken - of_head);
    seal_batch();
  }
}

void GroupCommit::Waiting::push(LogAppend& append) {
  append.next = nullptr;
  (last == nullptr ? first : last->next) = &append;
  last = &append;
}

LogAppend& GroupCommit::Waiting::pop() {
  LogAppend& append = *first;
  first = std::exchange(append.next, nullptr);
  if (first == nullptr) last = nullptr;
  return append;
}

void GroupCommit::enqueue(Waiting& list, LogAppend& waiter) {
  waiter.end = LogPosition{appended_end_};
  waiter.failure = nullptr;
  list.push(waiter);
  // A sync append in the open batch requests its write; see wants_write().
  if (waiter.level == Durability::sync && open_) {
    force_ = true;
    ++open_->waiting;
  }
  wake();
}

Async<Result<void>> GroupCommit::flush() {
  Waiter resumed;
  LogAppend barrier;
  barrier.level = Durability::sync;
  barrier.context = &resumed;
  barrier.done = [](LogAppend& self) { static_cast<Waiter*>(self.context)->resume(); };
  enqueue(controls_, barrier);
  co_await resumed.wait();
  if (barrier.failure != nullptr) co_return std::unexpected(*barrier.failure);
  co_return Result<void>();
}

bool GroupCommit::on_turn() {
  if (!due_) return false;
  due_ = false;
  complete_waiting();
  if (failure_ || stopping_) return true;
  while (writes_ < kWritesInFlight && submit_next()) {
  }
  if (failure_) complete_waiting();
  if (!failure_ && idle() && owes_mark() && !closing_mark_.armed()) {
    closing_mark_.arm_after_us(kClosingMarkUs);
  }
  return true;
}

bool GroupCommit::wants_write() const {
  if (!open_ || !force_) return false;
  if (writes_ == 0 || open_->bytes.used() >= kLargeBatchBytes) return true;
  return writes_ < depth_.limit() && open_->waiting * depth_.limit() >= in_flight_;
}

// Appends first: appends before a control record have ends that are not greater, so they complete
// first.
void GroupCommit::complete_waiting() {
  complete(waiting_);
  complete(controls_);
}

// done may append; such an append goes to the end of the list and is examined in this loop too.
void GroupCommit::complete(Waiting& list) {
  while (list.first != nullptr) {
    const LogAppend& head = *list.first;
    const bool reached = head.level != Durability::sync || head.end.value() <= durable_end_;
    if (!reached && !failure_) return;
    LogAppend& append = list.pop();
    if (failure_) append.failure = &*failure_;
    append.done(append);
  }
}

bool GroupCommit::submit_next() {
  if (sealed_.empty()) {
    if (!wants_write()) return false;
    seal_batch();
  }
  Batch& batch = sealed_.front();
  if (!sink_.is_ready(batch.bytes.position() / sink_.segment_bytes())) {
    const Error* why = sink_.failure();  // on_ready() wakes the hook
    if (impatient_ && why != nullptr) poison(*why);
    return false;
  }
  marked_ = std::max(marked_, batch.mark);
  if (batch.has_data) data_end_ = batch.bytes.end();
  Write& write = ring_[(first_write_ + writes_) % kWritesInFlight];
  ++writes_;
  write.batch = std::move(batch.bytes);
  write.waiting = batch.waiting;
  write.depth = batch.depth;
  write.began_us = timers_.now_us();
  write.filled_us = write.began_us - batch.opened_us;
  in_flight_ += batch.waiting;
  sealed_.pop_front();
  write.completed = false;
  write.position = write.batch.position();
  write.bytes = write.batch.contents();
  write.error.reset();
  sink_.submit(write);
  closing_mark_.cancel();
  return true;
}

void GroupCommit::on_write(SinkWrite& finished) {
  auto& write = static_cast<Write&>(finished);
  GroupCommit& self = *write.owner;
  write.completed = true;
  if (write.error && !self.failure_) self.poison(*std::move(write.error));
  const int64_t now_us = self.timers_.now_us();
  self.depth_.note(write.depth, write.filled_us, now_us - write.began_us, now_us);
  self.retire_completed();
  self.complete_waiting();
  self.wake();
  if (self.writes_ == 0) self.quiet_.notify_all();
}

void GroupCommit::retire_completed() {
  while (writes_ > 0 && ring_[first_write_].completed) {
    Write& write = ring_[first_write_];
    if (!failure_) durable_end_ = write.batch.end();
    if (pool_.size() < kWritesInFlight) pool_.push_back(std::move(write.batch).take_buffer());
    write.batch = BatchBuilder();
    in_flight_ -= write.waiting;
    first_write_ = (first_write_ + 1) % kWritesInFlight;
    --writes_;
  }
}

void GroupCommit::poison(Error cause) {
  log_error("store", "the log is poisoned, nothing more is acknowledged: {}", cause.to_string());
  failure_ =
      Error(Errc::unavailable, fmt::format("not durable, the log has failed: {}", cause.message))
          .outcome(Applied::maybe_applied);
  failure_->os_error = cause.os_error;
  periodic_.cancel();
  closing_mark_.cancel();
}

void GroupCommit::write_closing_mark() {
  if (failure_ || stopping_ || !idle() || !owes_mark()) return;
  add_record(RecordType::mark, Bytes(), Bytes());
  force_ = true;
  wake();
}

}  // namespace cellar::engine
