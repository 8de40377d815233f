// RateBudget: how much of something one class of work may use, in bytes or in microseconds of
// pauses. A token bucket.
//
// Units are earned at a rate per microsecond and spent by the work. Work may spend more than there
// is: the debt is earned before anything else, so that every amount fits and the rate holds over
// time. What is not spent accumulates for at most `most_credit_us`. The caller passes the clock,
// and a rate that may differ at every call.
//
// Invariants, after earn() at a rate r
//   1. balance <= r * most_credit_us.
//   2. The balance is infinite if and only if r is kUnlimited.
//   3. Nothing accumulates while the rate is kUnlimited: the first limited rate starts at 0.
//
// A share s of the time is a budget too: work of w us owes rest_us(w, s), earned at 1 us per us.
//
//   Example: 20 bytes per us, a credit of 100 us. After a long pause the balance is 2,000 bytes. A
//   write of 5,000 leaves a debt of 3,000, which is earned after 150 us.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cellar {

// The pause after which work of `worked_us` has taken this share of the time, above 0 and up to 1.
inline double rest_us(double worked_us, double share) { return worked_us * (1 / share - 1); }

class RateBudget {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  // Empty at `now_us`.
  explicit RateBudget(double most_credit_us, int64_t now_us = 0)
      : most_credit_us_(most_credit_us), earned_us_(now_us) {}

  // Adds what the rate allows for the time since the last call, up to the most credit. Returns the
  // change of the balance; 0 if the rate is unlimited.
  double earn(double per_us, int64_t now_us) {
    const auto passed_us = static_cast<double>(std::max<int64_t>(now_us - earned_us_, 0));
    earned_us_ = now_us;
    if (per_us == kUnlimited) {
      balance_ = kUnlimited;
      return 0;
    }
    const double before = is_unlimited() ? 0 : balance_;
    balance_ = std::min(before + per_us * passed_us, per_us * most_credit_us_);
    return balance_ - before;
  }
  void spend(double units) { balance_ -= units; }

  bool has_credit() const { return balance_ > 0; }
  bool covers(double units) const { return balance_ >= units; }
  bool is_unlimited() const { return balance_ == kUnlimited; }
  // The time in which the debt is earned at this rate; 0: there is none.
  double wait_us(double per_us) const { return balance_ < 0 ? -balance_ / per_us : 0; }

 private:
  const double most_credit_us_;
  int64_t earned_us_;
  double balance_ = 0;
};

}  // namespace cellar
