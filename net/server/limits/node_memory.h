// NodeMemory: what the serving side of a whole node holds for its clients, over all shards. The
// engine leaves a quarter of the node's budget for it (engine/shard/shard_engine.cc).
//
//   answers   chunks of streams that are being built, and answers that clients do not take yet.
//             When it is full, streams wait; a stream adds at most one chunk after it has looked,
//             so streams pass the bound by one chunk a shard at most. At twice the bound reads are
//             refused.
//   requests  receive buffers beyond what every connection has (wire::FrameReader::kSmallBytes),
//   and
//             bodies that are kept while the engine or another shard needs them. When it is full, a
//             connection begins no second request.
//   wide      receive buffers of wire::FrameReader::kInitialBytes, for connections that send much.
//             A connection that gets none reads in smaller pieces.
//
// The room of a frame that is being received (Claim) grows with the bytes that have arrived, not
// with the length that its header announces; from kProvenBytes on it is claimed whole, unless that
// were most of the room, so that a frame which has begun in earnest can be completed. Invariants:
//   - requests() is the sum of all claims and of all kept bodies.
//   - Claims over kLargeFrameBytes leave short_bytes() of the room to shorter frames.
//   - A claim that is alone always has room, so a frame of any permitted size can be received.
//   - While somebody waits in a MemoryQueue for a kind of room, no newcomer on any shard is given
//     that kind.
//   - Of those who wait, a party (a principal; on a node without principals, an address) that holds
//     half of the room already comes after the others.
//
// Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "io/base/result.h"

namespace cellar::server {

class NodeMemory {
 public:
  static constexpr size_t kAnswersShare = 16;      // of the budget: one in this
  static constexpr size_t kRequestsShare = 8;      // one in this
  static constexpr size_t kShortFramesShare = 32;  // one in this
  static constexpr size_t kWideBuffersShare = 32;  // one in this
  static constexpr size_t kLeastAnswers = 16u << 20;
  static constexpr size_t kAnswersRefused = 2;
  static constexpr size_t kLeastShortFrames = 2u << 20;
  static constexpr size_t kLargeFrameBytes = 1u << 20;  // from here on a frame is large
  static constexpr size_t kProvenBytes = 128u << 10;    // from here on a frame is claimed whole
  static constexpr size_t kParties = 1024;  // parties that meet in one slot share its bound

  // What may be waited for.
  enum class Kind : uint8_t { answers, requests, short_frames, large_frames };
  static constexpr size_t kKinds = 4;

  enum class Room : uint8_t { given, party_full, full };
  // Who asks: somebody who has not waited; one in a queue; one in a queue when all others in it
  // have been asked.
  enum class Turn : uint8_t { newcomer, queued, beyond_share };

  // What one connection holds for the frame that it receives. One thread.
  struct Claim {
    uint32_t party = 0;  // less than kParties
    size_t bytes = 0;
  };

  NodeMemory(size_t budget_bytes, size_t largest_frame_bytes)
      : answers_bound_(std::max(budget_bytes / kAnswersShare, kLeastAnswers)),
        short_bytes_(std::max(budget_bytes / kShortFramesShare, kLeastShortFrames)),
        requests_bound_(
            std::max(budget_bytes / kRequestsShare, largest_frame_bytes + short_bytes_)),
        wide_bound_(budget_bytes / kWideBuffersShare) {}

  void count_answers(ptrdiff_t change) { add(answers_, change); }
  void count_requests(ptrdiff_t change) { add(requests_, change); }
  bool answers_full() const { return answers() >= answers_bound_; }
  // RESOURCE_EXHAUSTED at kAnswersRefused times the bound: answers of single rows, which do not
  // wait for room, may pass it that far.
  Result<void> admit_answer() const;
  bool requests_full() const { return requests() >= requests_bound_; }

  static Kind kind_of(size_t claim_bytes) {
    return claim_bytes > kLargeFrameBytes ? Kind::large_frames : Kind::short_frames;
  }
  // Raises `claim` to `bytes` in all, if there is room.
  Room grow(Claim& claim, size_t bytes, Turn turn);
  // Makes it one of the party with this hash of a name.
  void move(Claim& claim, uint64_t hash);
  // Lowers it.
  void shrink(Claim& claim, size_t bytes);

  // False: there is no wide buffer for another connection.
  bool take_wide(size_t bytes);
  void give_wide(size_t bytes) { add(wide_, -static_cast<ptrdiff_t>(bytes)); }

  // ---- who waits (memory_queue.h)
  void count_waiting(Kind kind, int change) {
    waiting_[static_cast<size_t>(kind)].fetch_add(static_cast<uint32_t>(change));
    all_waiting_.fetch_add(static_cast<uint32_t>(change));
  }
  uint32_t waiting(Kind kind) const { return waiting_[static_cast<size_t>(kind)].load(); }
  bool has_waiters() const { return all_waiting_.load() != 0; }
  // Somebody waits for room that frames hold.
  bool frames_wanted() const {
    return waiting(Kind::short_frames) + waiting(Kind::large_frames) != 0;
  }

  size_t answers() const { return answers_.load(std::memory_order_relaxed); }
  size_t requests() const { return requests_.load(); }
  size_t answers_bound() const { return answers_bound_; }
  size_t requests_bound() const { return requests_bound_; }
  size_t short_bytes() const { return short_bytes_; }
  size_t large_bound() const { return requests_bound_ - short_bytes_; }
  size_t wide_bound() const { return wide_bound_; }

 private:
  // In one order with the count of those who wait: who gives room back sees a waiter, or the waiter
  // sees the room.
  static void add(std::atomic<size_t>& to, ptrdiff_t change) {
    to.fetch_add(static_cast<size_t>(change));
  }

  const size_t answers_bound_;
  const size_t short_bytes_;
  const size_t requests_bound_;
  const size_t wide_bound_;
  std::atomic<size_t> answers_ = 0;
  std::atomic<size_t> requests_ = 0;
  std::atomic<size_t> wide_ = 0;
  std::array<std::atomic<uint32_t>, kKinds> waiting_{};
  std::atomic<uint32_t> all_waiting_ = 0;
  std::array<std::atomic<size_t>, kParties> parties_{};
};

}  // namespace cellar::server
