#include "net/client/api/retry_policy.h"

#include <algorithm>

namespace cellar::client {

bool RetryPolicy::worth_it(const Error& error) {
  const bool passing = error.code == Errc::unavailable || error.code == Errc::resource_exhausted ||
                       error.code == Errc::aborted;
  return passing && error.retryable();
}

bool RetryPolicy::safe(const Error& error, Repeat repeat) {
  switch (error.applied) {
    case Applied::not_applied:
      return true;
    case Applied::maybe_applied:
      return repeat == Repeat::always;
    case Applied::applied:
      return false;
  }
  return false;
}

std::optional<int64_t> RetryPolicy::pause_us(const Error& error, Repeat repeat, uint32_t attempts,
                                             int64_t left_us) {
  if (attempts >= options_.max_attempts || !worth_it(error) || !safe(error, repeat)) return {};
  const uint32_t doublings = std::min<uint32_t>(attempts == 0 ? 0 : attempts - 1, 30);
  const int64_t full_us =
      std::clamp<int64_t>(options_.backoff_min_us << doublings, 1, options_.backoff_max_us);
  const auto half_us = static_cast<uint64_t>(full_us / 2);
  int64_t pause_us = full_us - static_cast<int64_t>(random_.below(half_us + 1));
  pause_us = std::max(pause_us, int64_t{error.retry_after_ms} * 1000);
  if (pause_us >= left_us || budget_ < 1) return {};
  budget_ -= 1;
  return pause_us;
}

void RetryPolicy::on_answer() {
  budget_ = std::min<double>(budget_ + options_.budget_share, options_.budget_reserve);
}

}  // namespace cellar::client
