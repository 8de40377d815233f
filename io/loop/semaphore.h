// Semaphore: a bounded supply (memory bytes, queue slots) granted in FIFO order.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "io/base/check.h"
#include "io/loop/waiter.h"

namespace cellar {

// One loop only.
class Semaphore {
 public:
  // A grant; returned on destruction. Must not outlive the supply.
  class [[nodiscard]] Lease {
   public:
    Lease() = default;
    Lease(Semaphore& from, uint64_t count) : from_(&from), count_(count) {}
    Lease(Lease&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(count_, other.count_);
      return *this;
    }
    ~Lease() { give_back(); }
    void give_back() {
      if (from_) std::exchange(from_, nullptr)->put(std::exchange(count_, 0));
    }
    uint64_t count() const { return count_; }

   private:
    Semaphore* from_ = nullptr;
    uint64_t count_ = 0;
  };

  explicit Semaphore(uint64_t total) : total_(total), available_(total) {}
  ~Semaphore() {
    CHECK(available_ == total_, "{} of {} units not given back", total_ - available_, total_);
  }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  // Empty if too few units are left or others wait (no overtaking).
  std::optional<Lease> try_take(uint64_t count);
  // Waits in FIFO order. REQUIRES: count <= total().
  Async<Lease> take(uint64_t count);

  uint64_t total() const { return total_; }
  uint64_t available() const { return available_; }
  bool has_waiters() const { return !waiting_.empty(); }

 private:
  struct Request : AutoUnlink {
    Waiter waiter;
    uint64_t count = 0;
    Semaphore* granted_by = nullptr;  // set between the grant and the waiter's resumption
    ~Request() {
      if (granted_by) granted_by->put(count);
    }
  };
  void put(uint64_t count);
  void grant();

  uint64_t total_;
  uint64_t available_;
  boost::intrusive::list<Request, boost::intrusive::constant_time_size<false>> waiting_;
};

}  // namespace cellar
