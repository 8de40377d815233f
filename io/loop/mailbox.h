// Mailboxes: messages between shards. Each ordered pair of shards has a lock-free ring with one
// writer and one reader. Messages sent in one loop turn are published together.
//
// A message is owned by the caller, usually in a coroutine frame, and must stay in place until its
// `run` has begun on the receiver. Nothing is allocated or copied. A reply is the same object sent
// back. If a ring is full, the sender's endpoint queues the messages and retries every turn, so
// order within a pair always holds. Callers bound the number of messages in flight.
//
// Sleep and wake: before its loop sleeps, a receiver sets `asleep` and checks its dirty bits once
// more; a sender sets the dirty bit and then checks `asleep`. Both are sequentially consistent, so
// one side sees the other, and only then a system call wakes the thread.
//
//   Async<Result<Row>> r = mailbox.call_on(owner, [spec] { return read(spec); });
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/base/check.h"
#include "io/base/strong.h"
#include "io/loop/loop.h"
#include "io/loop/waiter.h"

namespace cellar {

using ShardId = Strong<struct ShardIdTag, uint32_t>;

struct MailboxMessage {
  // Called on the receiving shard in its loop turn. From then on the mailbox does not use the
  // message: it may be sent again or destroyed.
  void (*run)(MailboxMessage& self) = nullptr;
  MailboxMessage* next = nullptr;  // used by the mailbox while the message is in flight
};

class Mailboxes;

// One shard's endpoint. Used on that shard's thread only.
class Mailbox final : public LoopHook {
 public:
  static constexpr size_t kRingSlots = 1024;  // messages of a pair before the sender queues them
  static constexpr size_t kDrainBatch = 256;  // messages of one pair per turn
  static constexpr uint32_t kMaxShards = 256;

  ShardId self() const { return self_; }

  // Runs `message` on shard `to`, in the order of sending; asynchronously even if `to` is this
  // shard.
  void send(ShardId to, MailboxMessage& message);

  // Runs the coroutine fn() on shard `target` and returns its result on this shard. `fn` stays and
  // is destroyed here; its captures are shared with the target meanwhile. On the own shard this is
  // a plain call.
  template <class F>
  auto call_on(ShardId target, F fn) -> std::invoke_result_t<F&>;

  // Runs fn() on shard `target` without waiting. Allocates. `fn` is destroyed on the target.
  template <class F>
  void post_on(ShardId target, F fn);

  // Messages so far that did not fit into a ring (a sign of a slow receiver).
  uint64_t overflowed() const { return overflowed_; }

  bool on_turn() override;
  bool may_sleep() override;

 private:
  friend class Mailboxes;
  template <class F, class T>
  struct Call;

  // One direction of one pair. The writer owns `tail` and `staged`, the reader `head`.
  struct Ring {
    alignas(64) std::atomic<uint64_t> tail{0};  // published by the writer
    std::atomic<bool> starved{false};           // the writer waits for room
    alignas(64) std::atomic<uint64_t> head{0};  // consumed by the reader
    alignas(64) uint64_t staged = 0;            // written, not yet published
    MailboxMessage* overflow_first = nullptr;
    MailboxMessage* overflow_last = nullptr;
    alignas(64) std::array<MailboxMessage*, kRingSlots> slots{};
  };
  static constexpr size_t kWords = kMaxShards / 64;
  using Mask = std::array<std::atomic<uint64_t>, kWords>;

  Mailbox(Mailboxes& all, ShardId self, uint32_t shards);
  bool stage(Ring& ring, MailboxMessage& message);
  bool flush_to(uint32_t to);
  bool can_flush() const;  // some queued message could be sent now
  bool drain_from(uint32_t from);
  void wake();  // wakes this shard; callable from any shard

  Mailboxes& all_;
  const ShardId self_;
  Loop* loop_ = nullptr;
  std::vector<std::unique_ptr<Ring>> outgoing_;  // by receiver
  std::array<uint64_t, kWords> unflushed_{};     // receivers with staged or overflowing messages
  uint64_t overflowed_ = 0;
  alignas(64) Mask dirty_{};  // senders with published messages
  alignas(64) std::atomic<bool> asleep_{false};
};

// All endpoints. Made before the shards run and destroyed after all of them have stopped; messages
// still in flight are dropped.
class Mailboxes {
 public:
  explicit Mailboxes(uint32_t shards);
  ~Mailboxes();

  uint32_t shards() const { return static_cast<uint32_t>(ends_.size()); }
  Mailbox& of(ShardId shard);

  // Call on the shard's own thread or before it runs: starts delivery of its messages. Other shards
  // may have sent messages before.
  void attach(ShardId shard, Loop& loop);
  // Call once no other shard sends to this one.
  void detach(ShardId shard);

 private:
  friend class Mailbox;
  std::vector<std::unique_ptr<Mailbox>> ends_;
};

// A round trip: carries the function to the target and its result back.
template <class F, class T>
struct Mailbox::Call : MailboxMessage {
  using Stored = std::conditional_t<std::is_void_v<T>, bool, T>;

  Call(Mailbox& home_end, Mailbox& target_end, F function)
      : home(home_end), target(target_end), fn(std::move(function)) {
    run = [](MailboxMessage& self) {
      auto& call = static_cast<Call&>(self);
      spawn(call.target.loop_->executor(), serve(call));
    };
  }
  static Async<void> serve(Call& call) {
    if constexpr (std::is_void_v<T>) {
      co_await call.fn();
      call.result.emplace(true);
    } else {
      call.result.emplace(co_await call.fn());
    }
    call.run = [](MailboxMessage& self) { static_cast<Call&>(self).answered.resume(); };
    call.target.send(call.home.self(), call);
  }

  Mailbox& home;
  Mailbox& target;
  F fn;
  std::optional<Stored> result;
  Waiter answered;
};

namespace detail {
template <class A>
struct AsyncValue;
template <class T>
struct AsyncValue<Async<T>> {
  using type = T;
};
Mailbox& mailbox_end(Mailboxes& all, ShardId shard);
}  // namespace detail

template <class F>
auto Mailbox::call_on(ShardId target, F fn) -> std::invoke_result_t<F&> {
  using T = typename detail::AsyncValue<std::invoke_result_t<F&>>::type;
  Call<F, T> call(*this, detail::mailbox_end(all_, target), std::move(fn));
  if (target == self_) {
    if constexpr (std::is_void_v<T>) {
      co_await call.fn();
      co_return;
    } else {
      co_return co_await call.fn();
    }
  }
  send(target, call);
  co_await call.answered.wait();
  if constexpr (!std::is_void_v<T>) co_return std::move(*call.result);
}

template <class F>
void Mailbox::post_on(ShardId target, F fn) {
  struct Post : MailboxMessage {
    explicit Post(F function) : fn(std::move(function)) {}
    F fn;
  };
  auto* post = new Post(std::move(fn));
  post->run = [](MailboxMessage& self) {
    const std::unique_ptr<Post> mine(static_cast<Post*>(&self));
    mine->fn();
  };
  send(target, *post);
}

}  // namespace cellar
