// PeerLimiter: limits per client address before login: connections without a complete hello, and
// failed logins.
//
// One address is an IPv4 address or an IPv6 /64, the usual allocation of one customer or machine,
// which could otherwise use 2^64 addresses.
//
// A fixed number of slots, selected by a hash with a random seed per process. Addresses that share
// a slot share its limits. A peer with a whole IPv6 network reaches every slot; a valid login does
// not depend on them (access/login.h). Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cellar::server {

// The address that limits count for "HOST:PORT": "192.0.2.7", "2001:db8:0:1::/64".
std::string network_of(std::string_view peer);

class PeerLimiter {
 public:
  static constexpr size_t kSlots = 8192;
  // Connections per address before the reply to their hello; further ones are closed at once.
  // Loopback addresses are exempt.
  static constexpr uint32_t kMaxOpening = 256;
  // Failed logins per address after which every login from it is refused, valid or not. One is
  // forgiven after each kForgiveUs.
  static constexpr int64_t kMaxFailures = 10;
  static constexpr int64_t kForgiveUs = 6'000'000;
  // The delay of the reply to a failed login; it doubles up to kMaxDelayUs.
  static constexpr int64_t kFirstDelayUs = 100'000;
  static constexpr int64_t kMaxDelayUs = 2'000'000;

  explicit PeerLimiter(uint64_t seed) : seed_(seed) {}

  // Counts a connection until the reply to its hello.
  class [[nodiscard]] Opening {
   public:
    Opening() = default;
    explicit Opening(std::atomic<uint32_t>& count) : count_(&count) {}
    Opening(Opening&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Opening& operator=(Opening&& other) noexcept {
      std::swap(count_, other.count_);
      return *this;
    }
    ~Opening() { end(); }
    void end() {
      if (count_) std::exchange(count_, nullptr)->fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    std::atomic<uint32_t>* count_ = nullptr;
  };

  // Empty if the address already has kMaxOpening connections. `peer` is "HOST:PORT".
  std::optional<Opening> open(std::string_view peer);

  // Hash of a name with this table's seed.
  uint64_t hash_of(std::string_view name) const;

  // How long logins from the address remain refused; 0: accepted.
  int64_t refused_for_us(std::string_view peer, int64_t now_us) const;
  // Records a failed login; returns the delay of its reply.
  int64_t login_failed(std::string_view peer, int64_t now_us);

 private:
  struct Slot {
    std::atomic<uint32_t> opening{0};
    std::atomic<int64_t> forgiven_us{0};  // when the last failure is forgiven
  };
  size_t slot_of(std::string_view peer) const;

  const uint64_t seed_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace cellar::server
