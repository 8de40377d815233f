// AddressTable: what a node knows of the addresses that come to it, before they have said who they
// are: how many of their connections have not finished their hello, and how often a login failed.
//
// What is counted as one address is the address for IPv4 and the /64 for IPv6, which is what one
// customer or machine has: it could otherwise come from 2^64 of them.
//
// A fixed number of slots, chosen by a hash with a seed of this process; addresses that meet in one
// slot share their bounds, which nobody outside can bring about on purpose. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cellar::server {

// What bounds count as one address, of "HOST:PORT": "192.0.2.7", "2001:db8:0:1::/64".
std::string network_of(std::string_view peer);

class AddressTable {
 public:
  static constexpr size_t kSlots = 8192;
  // Connections of one address before their hello is answered; more are closed at once. Not of
  // this machine's own addresses.
  static constexpr uint32_t kMaxOpening = 256;
  // Logins of one address that failed; then every login from there is refused, right or wrong.
  // One is forgiven after each kForgiveUs.
  static constexpr int64_t kMaxFailures = 10;
  static constexpr int64_t kForgiveUs = 6'000'000;
  // The answer to a failed login waits: this, twice this, ..., at most kMaxDelayUs.
  static constexpr int64_t kFirstDelayUs = 100'000;
  static constexpr int64_t kMaxDelayUs = 2'000'000;

  explicit AddressTable(uint64_t seed) : seed_(seed) {}

  // A connection whose hello is not answered yet.
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

  // None: that address has kMaxOpening of them. `peer` is "HOST:PORT".
  std::optional<Opening> open(std::string_view peer);

  // Of any name, by the seed of this table.
  uint64_t hash_of(std::string_view name) const;

  // How long until a login from there is looked at; 0: now.
  int64_t refused_for_us(std::string_view peer, int64_t now_us) const;
  // One has failed: for how long its answer waits.
  int64_t login_failed(std::string_view peer, int64_t now_us);

 private:
  struct Slot {
    std::atomic<uint32_t> opening{0};
    std::atomic<int64_t> forgiven_us{0};  // when the last of the failures is
  };
  size_t slot_of(std::string_view peer) const;

  const uint64_t seed_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace cellar::server
