// SlowRequests: the last requests of a shard that took longer than slow_request, with their stages.
// A ring of kKept; read on the shard. Contains no keys or values.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "io/base/result.h"

namespace cellar::server {

struct SlowRequest {
  int64_t at_us = 0;  // when it was answered, wall clock
  // The stages in order: received but not taken up (waiting for others of its connection or for
  // memory), in progress, and from its last answer to the socket.
  int64_t queued_us = 0;
  int64_t engine_us = 0;
  int64_t reply_us = 0;
  uint16_t op = 0;  // wire::fb::Op
  Errc code = Errc::ok;
  uint64_t table_id = 0;  // 0: named in the body, or none
  uint64_t request_id = 0;
  std::string client;  // the client's own name
  std::string peer;    // HOST:PORT

  int64_t total_us() const { return queued_us + engine_us + reply_us; }
};

// One shard.
class SlowRequests {
 public:
  static constexpr size_t kKept = 128;
  using Listener = std::function<void(const SlowRequest&)>;

  void add(SlowRequest request) {
    ++total_;
    if (listener_) listener_(request);
    if (kept_.size() == kKept) kept_.pop_front();
    kept_.push_back(std::move(request));
  }
  // Called for each request, inside add().
  void listen(Listener listener) { listener_ = std::move(listener); }

  const std::deque<SlowRequest>& kept() const { return kept_; }  // oldest first
  uint64_t total() const { return total_; }

 private:
  std::deque<SlowRequest> kept_;
  uint64_t total_ = 0;
  Listener listener_;
};

}  // namespace cellar::server
