// NodeMemory: what the serving side of a whole node holds for its clients, over all shards. The
// engine leaves a quarter of the node's budget for it (engine/shard_engine.cc).
//
//   answers   chunks of streams that are being built, and answers that clients do not take yet.
//             When it is full, streams wait; a stream adds at most one chunk after it has looked,
//             so the bound is passed by one chunk a shard at most.
//   requests  receive buffers of large frames, and bodies kept for other shards. When it is full,
//             connections are not read. A large frame is reserved whole before it is received, so
//             those who hold a part of it can always finish.
//
// Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cellar::server {

class NodeMemory {
 public:
  static constexpr size_t kAnswersShare = 16;  // of the budget: one in this
  static constexpr size_t kRequestsShare = 8;  // likewise
  static constexpr size_t kLeastAnswers = 16u << 20;
  static constexpr size_t kLargeFrameBytes = 1u << 20;  // from here on a frame is reserved
  static constexpr int64_t kLookAgainUs = 5'000;        // for those who wait

  NodeMemory(size_t budget_bytes, size_t largest_frame_bytes)
      : answers_bound_(std::max(budget_bytes / kAnswersShare, kLeastAnswers)),
        requests_bound_(std::max(budget_bytes / kRequestsShare, largest_frame_bytes)) {}

  void count_answers(ptrdiff_t change) { add(answers_, change); }
  void count_requests(ptrdiff_t change) { add(requests_, change); }
  bool answers_full() const { return answers() >= answers_bound_; }
  bool requests_full() const { return requests() >= requests_bound_; }
  // False, and nothing is reserved, when there is no room; one alone always has room.
  bool reserve_request(size_t bytes) {
    size_t held = requests_.load(std::memory_order_relaxed);
    while (held == 0 || held + bytes <= requests_bound_) {
      if (requests_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  size_t answers() const { return answers_.load(std::memory_order_relaxed); }
  size_t requests() const { return requests_.load(std::memory_order_relaxed); }
  size_t answers_bound() const { return answers_bound_; }
  size_t requests_bound() const { return requests_bound_; }

 private:
  static void add(std::atomic<size_t>& to, ptrdiff_t change) {
    to.fetch_add(static_cast<size_t>(change), std::memory_order_relaxed);
  }

  const size_t answers_bound_;
  const size_t requests_bound_;
  std::atomic<size_t> answers_ = 0;
  std::atomic<size_t> requests_ = 0;
};

}  // namespace cellar::server
