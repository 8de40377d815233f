#include "engine/write/commit_queue.h"

#include <utility>

#include "io/base/check.h"

namespace cellar::engine {

void CommitQueue::push(Write& write) {
  write.next = nullptr;
  (tail_ == nullptr ? head_ : tail_->next) = &write;
  tail_ = &write;
}

void CommitQueue::reported(Write& write) {
  CHECK(head_ == &write, "the log reported a commit of tablet {} out of order", write.tablet);
  head_ = std::exchange(write.next, nullptr);
  if (head_ == nullptr) tail_ = nullptr;
  if (write.append.failure != nullptr) {
    if (!failure_) failure_ = *write.append.failure;
    write.error = Error(Errc::unavailable, fmt::format("the log failed, the write may be lost: {}",
                                                       write.append.failure->message));
    write.error->applied = Applied::maybe_applied;
  } else {
    CHECK(!failure_, "the log of tablet {} went on after its failure", write.tablet);
    CHECK(write.stamp > facts_.visible, "stamp {} is not above {}", write.stamp, facts_.visible);
    facts_.visible = write.stamp;
  }
  if (moved_.has_waiters()) moved_.notify_all();
  // `done` may free the write.
  if (write.error) return write.done(write);
  writers_.answer(write);
}

Async<Result<void>> CommitQueue::visible(CommitStamp stamp) {
  while (facts_.visible < stamp) {
    if (failure_) co_return std::unexpected(*failure_);
    co_await moved_.wait();
  }
  co_return Result<void>{};
}

Async<void> CommitQueue::drained() {
  while (head_ != nullptr) co_await moved_.wait();
}

}  // namespace cellar::engine
