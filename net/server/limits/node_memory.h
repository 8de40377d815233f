// NodeMemory: memory that the server of a node holds for its clients, over all shards. The engine
// leaves a quarter of the node's budget for it (engine/shard/shard_engine.cc).
//
//   answers   chunks under construction and replies not yet read by clients. When full, streams
//             wait; a stream adds at most one chunk after its check, so the excess is at most one
//             chunk per shard. A stream whose connection has unread answers waits from half of the
//             bound on, so connections that do not read leave the other half to those that do, but
//             for one chunk each. At twice the bound reads are refused.
//   requests  receive buffers beyond the basic one (wire::FrameReader::kSmallBytes), and bodies
//             kept while the engine or another shard needs them. When full, a connection starts no
//             second request.
//   wide      receive buffers of wire::FrameReader::kInitialBytes, for connections that send much.
//             A connection without one reads in smaller pieces.
//
// The memory of a frame being received (Claim) grows with the bytes that have arrived, not with the
// length in its header. Above kProvenBytes the whole frame is claimed, unless it exceeds a third of
// large_bound(), so that the frame can complete. Invariants:
//   - requests() is the sum of all claims and kept bodies.
//   - Claims over kLargeFrameBytes leave short_bytes() of the memory to shorter frames.
//   - The only claim always succeeds, so a frame of any permitted size can be received.
//   - While a MemoryQueue has waiters for a kind of memory, newcomers on all shards get none of it.
//   - Among waiters, a party (a principal; without principals an address) that already holds half
//     of the memory comes last.
//
// Thread-safe.
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
  static constexpr size_t kAnswersShare = 16;      // of the budget: one in this many
  static constexpr size_t kRequestsShare = 8;      // one in this many
  static constexpr size_t kShortFramesShare = 32;  // one in this many
  static constexpr size_t kWideBuffersShare = 32;  // one in this many
  static constexpr size_t kLeastAnswers = 16u << 20;
  static constexpr size_t kAnswersRefused = 2;
  static constexpr size_t kLeastShortFrames = 2u << 20;
  static constexpr size_t kLargeFrameBytes = 1u << 20;  // larger frames count as large
  static constexpr size_t kProvenBytes = 128u << 10;    // above this a frame is claimed whole
  static constexpr size_t kParties = 1024;              // parties that share a slot share its bound

  // Kinds of memory to wait for.
  enum class Kind : uint8_t { answers, requests, short_frames, large_frames };
  static constexpr size_t kKinds = 4;

  enum class Room : uint8_t { given, party_full, full };
  // The caller: one that has not waited; a queued one; a queued one after all others in its queue.
  enum class Turn : uint8_t { newcomer, queued, beyond_share };

  // Memory that one connection holds for the frame it receives. Single-threaded.
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
  // For a stream whose connection has that many bytes of unread answers.
  bool answers_full(size_t unread_bytes) const {
    return answers() >= (unread_bytes == 0 ? answers_bound_ : unread_bound());
  }
  // RESOURCE_EXHAUSTED at kAnswersRefused times the bound: single-row replies, which do not wait,
  // may exceed the bound up to there.
  Result<void> admit_answer() const;
  bool requests_full() const { return requests() >= requests_bound_; }

  static Kind kind_of(size_t claim_bytes) {
    return claim_bytes > kLargeFrameBytes ? Kind::large_frames : Kind::short_frames;
  }
  // Raises `claim` to a total of `bytes`, if possible.
  Room grow(Claim& claim, size_t bytes, Turn turn);
  // Assigns the claim to the party with this hash of its name.
  void move(Claim& claim, uint64_t hash);
  // Lowers the claim to `bytes`.
  void shrink(Claim& claim, size_t bytes);

  // False: no wide buffer is available.
  bool take_wide(size_t bytes);
  void give_wide(size_t bytes) { add(wide_, -static_cast<ptrdiff_t>(bytes)); }

  // ---- waiters (memory_queue.h)
  void count_waiting(Kind kind, int change) {
    waiting_[static_cast<size_t>(kind)].fetch_add(static_cast<uint32_t>(change));
    all_waiting_.fetch_add(static_cast<uint32_t>(change));
  }
  uint32_t waiting(Kind kind) const { return waiting_[static_cast<size_t>(kind)].load(); }
  bool has_waiters() const { return all_waiting_.load() != 0; }
  // Whether waiters need memory that frames hold.
  bool frames_wanted() const {
    return waiting(Kind::short_frames) + waiting(Kind::large_frames) != 0;
  }

  size_t answers() const { return answers_.load(std::memory_order_relaxed); }
  size_t requests() const { return requests_.load(); }
  size_t answers_bound() const { return answers_bound_; }
  size_t unread_bound() const { return answers_bound_ / 2; }
  size_t requests_bound() const { return requests_bound_; }
  size_t short_bytes() const { return short_bytes_; }
  size_t large_bound() const { return requests_bound_ - short_bytes_; }
  size_t wide_bound() const { return wide_bound_; }

 private:
  // Sequentially consistent with the count of waiters: either the releaser sees the waiter or the
  // waiter sees the released memory.
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
