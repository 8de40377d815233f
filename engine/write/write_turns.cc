#include "engine/write/write_turns.h"

#include <algorithm>
#include <utility>

namespace cellar::engine {
namespace {

constexpr uint32_t kTurnRetryMs = 5;

void refuse(TurnHost& host, const WaitingWrite& waiting, Error error) {
  if (waiting.conditional == nullptr) return host.refuse_turn(*waiting.write, std::move(error));
  waiting.conditional->error = std::move(error);
  waiting.conditional->done(*waiting.conditional);
}

}  // namespace

// ---- the writes of a tablet

WriteTurns::Line::~Line() {
  if (writes_.empty()) return;
  std::erase(turns_.lines_, this);
  while (!writes_.empty()) (void)pop();
}

Result<bool> WriteTurns::Line::delay(Write& write) {
  if (!must_wait()) return false;
  TRY_VOID(turns_.check_room(copied_bytes(write)));
  push(copy_of(write));
  return true;
}

Result<bool> WriteTurns::Line::delay(ConditionalWrite& write) {
  if (!must_wait()) return false;
  TRY_VOID(turns_.check_room(0));
  push(waiting_of(write));
  return true;
}

void WriteTurns::Line::push(std::unique_ptr<WaitingWrite> write) {
  if (writes_.empty()) turns_.lines_.push_back(this);
  turns_.waiting_bytes_ += write->size();
  writes_.push_back(std::move(write));
  ++turns_.delayed_;
  if (turns_.waiting_++ > 0) return;
  turns_.moved_us_ = turns_.timers_.now_us();
  turns_.durable_end_ = turns_.levels_().log_durable_end;
  turns_.alarm_.arm_after_us(Timers::kTickUs);
}

std::unique_ptr<WaitingWrite> WriteTurns::Line::pop() {
  std::unique_ptr<WaitingWrite> first = std::move(writes_.front());
  writes_.pop_front();
  --turns_.waiting_;
  turns_.waiting_bytes_ -= first->size();
  return first;
}

Async<void> WriteTurns::Line::drained() {
  while (!empty()) co_await quiet_.wait();
}

// ---- the shard

bool WriteTurns::is_full(const FlowLevels& levels) {
  return !levels.log_failed && levels.log_pending_bytes > kQueueBytes;
}

bool WriteTurns::queue_is_full() const { return levels_ && is_full(levels_()); }

bool WriteTurns::stands_still() const {
  return waiting_ > 0 && timers_.now_us() - moved_us_ > kStillUs;
}

Error WriteTurns::refusal(const FlowLevels& levels) const {
  return Error(Errc::resource_exhausted,
               fmt::format("{} bytes wait for the log's disk, the bound is {}; {} writes with {} "
                           "bytes wait for their turn, the bounds are {} and {} bytes",
                           levels.log_pending_bytes, kQueueBytes, waiting_, waiting_bytes_,
                           kMaxTurns, kMaxTurnBytes))
      .retry_after(kTurnRetryMs);
}

// Waiting copies count as memtables, in which they will be.
Result<void> WriteTurns::check_room(size_t bytes) const {
  const FlowLevels levels = levels_();
  const bool fits = waiting_bytes_ == 0 ||
                    (waiting_bytes_ + bytes <= kMaxTurnBytes &&
                     levels.memtable_bytes + waiting_bytes_ + bytes <= levels.memtable_bound);
  if (fits && waiting_ < kMaxTurns && !stands_still()) return {};
  return std::unexpected(refusal(levels));
}

void WriteTurns::tick() {
  const FlowLevels levels = levels_();
  if (std::exchange(durable_end_, levels.log_durable_end) != levels.log_durable_end)
    moved_us_ = timers_.now_us();
  while (!lines_.empty() && !queue_is_full()) submit_next();
  if (!lines_.empty() && stands_still()) refuse_all(levels);
  if (!lines_.empty()) alarm_.arm_after_us(Timers::kTickUs);
}

// What the write leads to may add to the lines; the tablet stays, since nothing is destroyed in a
// synchronous call.
void WriteTurns::submit_next() {
  Line& line = *lines_.front();
  lines_.pop_front();
  const std::unique_ptr<WaitingWrite> first = line.pop();
  line.submits_ = true;
  if (!line.writes_.empty()) lines_.push_back(&line);
  if (first->conditional != nullptr) {
    line.host_.take_turn(*first->conditional);
  } else {
    line.host_.take_turn(*first->write);
  }
  line.submits_ = false;
  if (line.empty()) line.quiet_.notify_all();
}

// Writes that arrive meanwhile are refused by check_room(), or begin a line of their own.
void WriteTurns::refuse_all(const FlowLevels& levels) {
  const Error error = refusal(levels);
  for (Line* line : std::exchange(lines_, {})) {
    auto writes = std::exchange(line->writes_, {});
    for (const auto& write : writes) {
      --waiting_;
      waiting_bytes_ -= write->size();
    }
    for (const auto& write : writes) refuse(line->host_, *write, error);
    if (line->empty()) line->quiet_.notify_all();
  }
}

}  // namespace cellar::engine
