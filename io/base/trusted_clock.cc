#include "io/base/trusted_clock.h"

#include <algorithm>

#include "io/base/saturating.h"

namespace cellar {
namespace {

// Bound (2).
int64_t line_us(const ClockAnchor& anchor, const Clock& machine) {
  return saturating_add(anchor.trusted_us, with_drift_us(machine.boot_us() - anchor.boot_us));
}

}  // namespace

int64_t with_drift_us(int64_t elapsed_us) {
  const int64_t elapsed = std::max<int64_t>(0, elapsed_us);
  constexpr int64_t kMillion = 1'000'000;
  return saturating_add(elapsed, elapsed / kMillion * TrustedClock::kDriftPpm +
                                     elapsed % kMillion * TrustedClock::kDriftPpm / kMillion);
}

TrustedClock::TrustedClock(const Clock& machine)
    : machine_(machine),
      anchor_{.trusted_us = machine.wall_us(), .boot_us = machine.boot_us()},
      last_us_(anchor_.trusted_us) {}

int64_t TrustedClock::bounded_us() const {
  return std::min(machine_.wall_us(), line_us(anchor_, machine_));
}

int64_t TrustedClock::now_us() {
  last_us_ = std::max(last_us_, std::min(bounded_us(), anchor_.permitted_us));
  return last_us_;
}

int64_t TrustedClock::expected_us() { return std::max(now_us(), bounded_us()); }

bool TrustedClock::stands() {
  // Every request calls this. Usually the first comparison decides, with one clock reading.
  return line_us(anchor_, machine_) >= anchor_.permitted_us &&
         machine_.wall_us() > anchor_.permitted_us;
}

void TrustedClock::on_asked(void (*listener)(void* context), void* context) {
  listener_ = listener;
  listener_context_ = context;
  asked_ = false;
}

void TrustedClock::tell_listener() {
  asked_ = true;
  if (listener_ != nullptr) listener_(listener_context_);
}

void TrustedClock::anchor(const ClockAnchor& anchor) {
  last_us_ = anchored_ ? std::max(last_us_, anchor.trusted_us) : anchor.trusted_us;
  anchored_ = true;
  asked_ = false;
  anchor_ = anchor;
}

ClockPoint TrustedClock::begin_line() {
  anchor_.trusted_us = now_us();
  anchor_.boot_us = machine_.boot_us();
  return {.trusted_us = anchor_.trusted_us, .boot_us = anchor_.boot_us};
}

void TrustedClock::raise(int64_t reading_us) { last_us_ = std::max(last_us_, reading_us); }

int64_t TrustedClock::held_us() {
  const int64_t expected = expected_us();
  return std::max<int64_t>(0, saturating_sub(machine_.wall_us(), expected));
}

}  // namespace cellar
