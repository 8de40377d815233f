#include "net/server/limits/peer_limiter.h"

#include <xxhash.h>

#include <algorithm>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "io/net/loopback.h"

namespace cellar::server {
namespace {

std::string_view host_of(std::string_view peer) {
  const size_t colon = peer.rfind(':');
  return colon == std::string_view::npos ? peer : peer.substr(0, colon);
}

}  // namespace

uint64_t PeerLimiter::hash_of(std::string_view name) const {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed_);
}

std::string network_of(std::string_view peer) {
  std::string_view host = host_of(peer);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  host = host.substr(0, host.find('%'));  // the zone of a link-local address
  namespace ip = boost::asio::ip;
  boost::system::error_code no_address;
  const auto address = ip::make_address(std::string(host), no_address);
  if (no_address || address.is_v4()) return std::string(host);
  if (address.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string();
  }
  constexpr unsigned short kPrefixBits = 64;
  return ip::make_network_v6(address.to_v6(), kPrefixBits).canonical().to_string();
}

size_t PeerLimiter::slot_of(std::string_view peer) const {
  return hash_of(network_of(peer)) % kSlots;
}

std::optional<PeerLimiter::Opening> PeerLimiter::open(std::string_view peer) {
  if (is_loopback_peer(peer)) return Opening();
  std::atomic<uint32_t>& count = slots_[slot_of(peer)].opening;
  if (count.fetch_add(1, std::memory_order_relaxed) < kMaxOpening) return Opening(count);
  count.fetch_sub(1, std::memory_order_relaxed);
  return std::nullopt;
}

int64_t PeerLimiter::refused_for_us(std::string_view peer, int64_t now_us) const {
  const int64_t forgiven_us = slots_[slot_of(peer)].forgiven_us.load(std::memory_order_relaxed);
  return std::max<int64_t>(forgiven_us - now_us - (kMaxFailures - 1) * kForgiveUs, 0);
}

int64_t PeerLimiter::login_failed(std::string_view peer, int64_t now_us) {
  std::atomic<int64_t>& forgiven = slots_[slot_of(peer)].forgiven_us;
  int64_t before_us = forgiven.load(std::memory_order_relaxed);
  int64_t after_us = 0;
  do {
    after_us = std::max(before_us, now_us) + kForgiveUs;
  } while (!forgiven.compare_exchange_weak(before_us, after_us, std::memory_order_relaxed));
  const int64_t failures = (after_us - now_us + kForgiveUs - 1) / kForgiveUs;
  const int64_t doublings = std::clamp<int64_t>(failures - 1, 0, 10);
  return std::min(kFirstDelayUs << doublings, kMaxDelayUs);
}

}  // namespace cellar::server
