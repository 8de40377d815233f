#include "io/loop/mailbox.h"

#include <algorithm>
#include <bit>

#include <boost/asio/post.hpp>

namespace cellar {
namespace {

// Calls fn(index) for every set bit of `bits`, word number `word` of a mask.
template <class F>
void for_each_bit(uint64_t bits, size_t word, F fn) {
  for (; bits != 0; bits &= bits - 1) {
    fn(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
  }
}
constexpr uint64_t bit_of(uint32_t shard) { return uint64_t{1} << shard % 64; }

}  // namespace

Mailbox::Mailbox(Mailboxes& all, ShardId self, uint32_t shards) : all_(all), self_(self) {
  for (uint32_t i = 0; i < shards; ++i) outgoing_.push_back(std::make_unique<Ring>());
}

void Mailbox::send(ShardId to, MailboxMessage& message) {
  CHECK(to.value() < outgoing_.size(), "no shard {}", to);
  Ring& ring = *outgoing_[to.value()];
  message.next = nullptr;
  if (ring.overflow_first || !stage(ring, message)) {
    (ring.overflow_last ? ring.overflow_last->next : ring.overflow_first) = &message;
    ring.overflow_last = &message;
    ++overflowed_;
  }
  unflushed_[to.value() / 64] |= bit_of(to.value());
}

bool Mailbox::stage(Ring& ring, MailboxMessage& message) {
  if (ring.staged - ring.head.load(std::memory_order_acquire) == kRingSlots) return false;
  ring.slots[ring.staged % kRingSlots] = &message;
  ++ring.staged;
  return true;
}

bool Mailbox::flush_to(uint32_t to) {
  Ring& ring = *outgoing_[to];
  while (MailboxMessage* message = ring.overflow_first) {
    MailboxMessage* const next = message->next;
    if (!stage(ring, *message)) break;
    ring.overflow_first = next;
    if (!next) ring.overflow_last = nullptr;
  }
  if (ring.overflow_first) {
    ring.starved.store(true);
  } else {
    unflushed_[to / 64] &= ~bit_of(to);
  }
  if (ring.staged == ring.tail.load(std::memory_order_relaxed)) return false;
  ring.tail.store(ring.staged);
  Mailbox& receiver = *all_.ends_[to];
  receiver.dirty_[self_.value() / 64].fetch_or(bit_of(self_.value()));
  receiver.wake();
  return true;
}

bool Mailbox::drain_from(uint32_t from) {
  Ring& ring = *all_.ends_[from]->outgoing_[self_.value()];
  const uint64_t head = ring.head.load(std::memory_order_relaxed);
  const uint64_t available = ring.tail.load(std::memory_order_acquire) - head;
  const uint64_t count = std::min<uint64_t>(available, kDrainBatch);
  for (uint64_t i = 0; i < count; ++i) {
    MailboxMessage* const message = ring.slots[(head + i) % kRingSlots];
    message->run(*message);
  }
  ring.head.store(head + count);
  if (ring.starved.load() && ring.starved.exchange(false)) all_.ends_[from]->wake();
  if (available > count) dirty_[from / 64].fetch_or(bit_of(from));
  return count > 0;
}

bool Mailbox::on_turn() {
  if (asleep_.load(std::memory_order_relaxed)) asleep_.store(false);
  bool worked = false;
  for (size_t word = 0; word < kWords; ++word) {
    if (dirty_[word].load(std::memory_order_relaxed) == 0) continue;
    for_each_bit(dirty_[word].exchange(0), word,
                 [&](uint32_t from) { worked = drain_from(from) || worked; });
  }
  for (size_t word = 0; word < kWords; ++word) {
    for_each_bit(unflushed_[word], word, [&](uint32_t to) { worked = flush_to(to) || worked; });
  }
  return worked;
}

bool Mailbox::may_sleep() {
  asleep_.store(true);
  const bool nothing_came =
      std::ranges::all_of(dirty_, [](const auto& word) { return word.load() == 0; });
  if (nothing_came && !can_flush()) return true;
  asleep_.store(false);
  return false;
}

bool Mailbox::can_flush() const {
  bool can = false;
  for (size_t word = 0; word < kWords; ++word) {
    for_each_bit(unflushed_[word], word, [&](uint32_t to) {
      const Ring& ring = *outgoing_[to];
      if (ring.staged != ring.tail.load(std::memory_order_relaxed)) can = true;
      if (ring.overflow_first && ring.staged - ring.head.load() < kRingSlots) can = true;
    });
  }
  return can;
}

void Mailbox::wake() {
  if (asleep_.load() && asleep_.exchange(false)) asio::post(loop_->context(), [] {});
}

Mailboxes::Mailboxes(uint32_t shards) {
  CHECK(shards >= 1 && shards <= Mailbox::kMaxShards, "{} shards, where 1..{} are possible", shards,
        Mailbox::kMaxShards);
  for (uint32_t i = 0; i < shards; ++i) {
    ends_.push_back(std::unique_ptr<Mailbox>(new Mailbox(*this, ShardId(i), shards)));
  }
}

Mailboxes::~Mailboxes() {
  for (uint32_t i = 0; i < shards(); ++i) detach(ShardId(i));
}

Mailbox& Mailboxes::of(ShardId shard) {
  CHECK(shard.value() < ends_.size(), "no shard {}", shard);
  return *ends_[shard.value()];
}

void Mailboxes::attach(ShardId shard, Loop& loop) {
  Mailbox& end = of(shard);
  CHECK(!end.loop_, "shard {} is attached already", shard);
  end.loop_ = &loop;
  loop.add_hook(end);
}

void Mailboxes::detach(ShardId shard) {
  Mailbox& end = of(shard);
  if (end.loop_) end.loop_->remove_hook(end);
  end.loop_ = nullptr;
}

namespace detail {
Mailbox& mailbox_end(Mailboxes& all, ShardId shard) { return all.of(shard); }
}  // namespace detail

}  // namespace cellar
