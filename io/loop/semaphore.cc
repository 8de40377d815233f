#include "io/loop/semaphore.h"

namespace cellar {

std::optional<Semaphore::Lease> Semaphore::try_take(uint64_t count) {
  CHECK(count <= total_, "{} units asked of {}", count, total_);
  if (!waiting_.empty() || count > available_) return std::nullopt;
  available_ -= count;
  return Lease(*this, count);
}

Async<Semaphore::Lease> Semaphore::take(uint64_t count) {
  if (std::optional<Lease> at_once = try_take(count)) co_return std::move(*at_once);
  Request request;
  request.count = count;
  waiting_.push_back(request);
  co_await request.waiter.wait();
  request.granted_by = nullptr;
  co_return Lease(*this, count);
}

void Semaphore::put(uint64_t count) {
  available_ += count;
  CHECK(available_ <= total_, "{} units where {} exist", available_, total_);
  grant();
}

void Semaphore::grant() {
  while (!waiting_.empty() && waiting_.front().count <= available_) {
    Request& request = waiting_.front();
    waiting_.pop_front();
    available_ -= request.count;
    request.granted_by = this;
    request.waiter.resume();
  }
}

}  // namespace cellar
