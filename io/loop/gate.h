// Gate: orderly shutdown. Work enters and leaves; close() refuses new entries and waits until the
// last has left. The destructor checks that no work is inside.
//
//   CO_TRY(Gate::Pass pass, gate_.enter());   // UNAVAILABLE once closing
#pragma once

#include <string_view>
#include <utility>

#include "io/base/check.h"
#include "io/base/result.h"
#include "io/loop/event.h"

namespace cellar {

// One loop only.
class Gate {
 public:
  class [[nodiscard]] Pass {
   public:
    Pass() = default;
    explicit Pass(Gate& gate) : gate_(&gate) {}
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~Pass() {
      if (gate_) gate_->leave();
    }

   private:
    Gate* gate_ = nullptr;
  };

  // `name` must outlive the gate; the error reads "<name> is closing".
  explicit Gate(std::string_view name = "gate") : name_(name) {}
  ~Gate() { CHECK(inside_ == 0, "gate '{}' destroyed with {} inside", name_, inside_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  Result<Pass> enter() {
    if (closed_) return fail(Errc::unavailable, "{} is closing", name_);
    ++inside_;
    return Pass(*this);
  }
  void leave() {
    CHECK(inside_ > 0, "gate '{}' left more often than entered", name_);
    if (--inside_ == 0 && closed_) empty_.set();
  }

  // Refuses new entries and returns when the last pass has left. May be called more than once. Must
  // not be awaited by a coroutine inside the gate.
  Async<void> close() {
    closed_ = true;
    if (inside_ == 0) empty_.set();
    return empty_.wait();
  }
  bool closed() const { return closed_; }
  size_t inside() const { return inside_; }

 private:
  std::string_view name_;
  size_t inside_ = 0;
  bool closed_ = false;
  Event empty_;
};

}  // namespace cellar
