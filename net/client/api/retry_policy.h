// RetryPolicy: which failed request is sent again, and when.
//
// A repetition must be worth it, safe, and affordable.
//
// Worth it. The code is UNAVAILABLE, RESOURCE_EXHAUSTED or ABORTED, and whoever refused said that a
// retry can help (`retry_after_ms` of the answer; a lost connection always says so). Everything
// else would be answered the same again, or is the caller's to judge.
//
// Safe. By what became of the attempt (Error::applied) and by what the request is (Repeat):
//
//   request                                        not applied   maybe applied   applied
//   read, listing, preview, ping, flush, compact   again         again           (never so)
//   write with an idempotency token                again         again           final
//   write without one                              again         final           final
//     of a sole writer (below)                     again         again           final
//   create, alter, drop, restore of a table        again         final           final
//
// A write that may have been applied is repeated only with a token (SEMANTICS 2). Without one the
// repetition is a new commit, later than what others wrote and were told is durable between the
// two: a cell with a given timestamp would take the place of their value, or bring back what they
// deleted; a delete or a DropRowRange would cover what they wrote.
//
// CallOptions::sole_writer is the caller's word that no other write touches these rows before the
// call has ended. Then a repetition leaves what one attempt leaves, for cells with given timestamps
// and no `ttl`, for deletes and for DropRowRange. Never for a server stamp (it would become two
// versions), a `ttl` (it would count from the second commit), a condition, an append or an
// increment.
//
// An answer in doubt after one attempt stays in doubt whatever later attempts say.
//
// Affordable. The pause before attempt n + 1 is drawn from [1/2, 1] of backoff_min * 2^(n - 1), at
// most backoff_max, and never shorter than the server asked for. What would begin after the
// deadline is not begun. Repetitions spend a budget that answered requests fill: at most
// `budget_share` of them, beside a reserve for the moment when a connection with many requests is
// lost. So a node that refuses everything sees little more than what is new.
#pragma once

#include <cstdint>
#include <optional>

#include "io/base/random.h"
#include "io/base/result.h"

namespace cellar::client {

// Whether a request whose outcome is in doubt may be sent again.
enum class Repeat : uint8_t { always, unless_applied };

struct RetryOptions {
  uint32_t max_attempts = 10;       // of one request, the first included; 1: nothing is repeated
  int64_t backoff_min_us = 10'000;  // before the second attempt
  int64_t backoff_max_us = 2'000'000;
  double budget_share = 0.2;        // repetitions for each answered request, 0 to 1
  uint32_t budget_reserve = 2'000;  // repetitions that may be spent at once
};

class RetryPolicy {
 public:
  RetryPolicy(const RetryOptions& options, uint64_t seed)
      : options_(options), random_(seed), budget_(options.budget_reserve) {}

  // How long to wait before the next attempt, and the budget is charged; none: the failure is
  // final. `attempts` were made; `left_us` is the time to the deadline.
  std::optional<int64_t> pause_us(const Error& error, Repeat repeat, uint32_t attempts,
                                  int64_t left_us);
  // A request was answered, well or with a final refusal.
  void on_answer();

  // The parts of the rules that need no budget.
  static bool worth_it(const Error& error);
  static bool safe(const Error& error, Repeat repeat);

  double budget() const { return budget_; }

 private:
  const RetryOptions options_;
  Random random_;
  double budget_;
};

}  // namespace cellar::client
