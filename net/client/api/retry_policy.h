// RetryPolicy: which failed requests are retried, and when.
//
// A retry must be useful, safe and within the budget.
//
// Useful. The code is UNAVAILABLE, RESOURCE_EXHAUSTED or ABORTED, and the error says that a retry
// can help (`retry_after_ms` of the answer; a lost connection always does). Other errors would
// recur or are for the caller to decide.
//
// Safe. It depends on the outcome of the attempt (Error::applied) and on the request (Repeat):
//
//   request                                        not applied   maybe applied   applied
//   read, listing, preview, ping, flush, compact   again         again           (never so)
//   write with an idempotency token                again         again           final
//   write without one                              again         final           final
//     of a sole writer (below)                     again         again           final
//   create, alter, drop, restore of a table        again         final           final
//
// A write that may have been applied is retried only with a token (SEMANTICS 2). Without one the
// retry is a new commit, later than writes by others that were acknowledged in between: a cell with
// a given timestamp would replace their value or restore what they deleted; a delete or a
// DropRowRange would cover what they wrote.
//
// CallOptions::sole_writer is the caller's guarantee that no other write touches these rows before
// the call has ended. A retry then has the same result as one attempt for cells with given
// timestamps and no `ttl`, for deletes and for DropRowRange. It does not for a server timestamp
// (two versions), a `ttl` (counted from the second commit), a condition, an append or an increment.
//
// After a doubtful attempt the outcome stays in doubt whatever later attempts return.
//
// Budget. The pause before attempt n + 1 is random in [1/2, 1] of backoff_min * 2^(n - 1), at most
// backoff_max, and never shorter than the server requests. No attempt starts after the deadline.
// Retries use a budget that answered requests refill: at most a `budget_share` of them, plus a
// reserve for the loss of a connection with many requests. A node that refuses everything thus sees
// little more than new requests.
#pragma once

#include <cstdint>
#include <optional>

#include "io/base/random.h"
#include "io/base/result.h"

namespace cellar::client {

// Whether a request with a doubtful outcome may be retried.
enum class Repeat : uint8_t { always, unless_applied };

struct RetryOptions {
  uint32_t max_attempts = 10;       // per request, including the first; 1: no retries
  int64_t backoff_min_us = 10'000;  // before the second attempt
  int64_t backoff_max_us = 2'000'000;
  double budget_share = 0.2;        // retries per answered request, 0 to 1
  uint32_t budget_reserve = 2'000;  // retries that may be used at once
};

class RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, uint64_t seed)
      : options_(options), random_(seed), budget_(options.budget_reserve) {}

  // The pause before the next attempt, which is charged to the budget; empty: the failure is final.
  // `attempts` were made; `left_us` is the time to the deadline.
  std::optional<int64_t> pause_us(const Error& error, Repeat repeat, uint32_t attempts,
                                  int64_t left_us);
  // A request was answered, with success or a final error.
  void on_answer();

  // The rules that do not depend on the budget.
  static bool worth_it(const Error& error);
  static bool safe(const Error& error, Repeat repeat);

  double budget() const { return budget_; }

 private:
  const RetryOptions options_;
  Random random_;
  double budget_;
};

}  // namespace cellar::client
