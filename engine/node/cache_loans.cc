#include "engine/node/cache_loans.h"

#include <algorithm>
#include <utility>

#include "io/loop/async.h"

namespace cellar::engine {

CacheLoans::CacheLoans(NodeShards& shards)
    : shards_(shards),
      timer_(
          shards.home().runtime.timers,
          [](void* self) { static_cast<CacheLoans*>(self)->wake_.notify_all(); }, this) {}

void CacheLoans::serve() {
  if (shards_.count() > 1) spawn(shards_.home().runtime.executor, loop());
}

void CacheLoans::call_back(ShardId shard) {
  const auto note = [this, shard] {
    short_.push_back(shard);
    wake_.notify_all();
  };
  if (shard == kHomeShard) return note();
  shards_.mailbox(shard).post_on(kHomeShard, note);
}

Async<void> CacheLoans::stop() {
  stopping_ = true;
  timer_.cancel();
  wake_.notify_all();
  co_await running_.close();
}

Async<void> CacheLoans::loop() {
  auto pass = running_.enter();
  const Timers& timers = shards_.home().runtime.timers;
  int64_t look_us = timers.now_us() + kLookUs;
  while (pass && !stopping_) {
    if (!short_.empty()) {
      const ShardId lender = short_.front();
      short_.erase(short_.begin());
      co_await return_to(lender);
    } else if (timers.now_us() >= look_us) {
      co_await look();
      look_us = timers.now_us() + kLookUs;
    } else {
      timer_.arm_after_us(look_us - timers.now_us());
      co_await wake_.wait();
    }
  }
}

Async<void> CacheLoans::look() {
  std::vector<CacheOffer> offers(shards_.count());
  auto ask = [this, &offers](ShardId shard) -> Async<Result<void>> {
    offers[shard.value()] = shards_.engine(shard).memory().offer();
    co_return Result<void>{};
  };
  (void)co_await shards_.on_every(std::move(ask));
  const size_t step_bytes = shards_.engine(kHomeShard).memory().headroom_bytes();
  const std::optional<CacheLoan> loan = pick_loan(offers, step_bytes);
  if (loan) (void)co_await move(ShardId{loan->from}, ShardId{loan->to}, loan->bytes);
}

// From the largest borrower, until the lender has enough or nothing is lent.
Async<void> CacheLoans::return_to(ShardId lender) {
  std::vector<int64_t> granted(shards_.count());
  std::vector<char> is_short(shards_.count());
  auto ask = [this, &granted, &is_short](ShardId shard) -> Async<Result<void>> {
    const MemoryBudget& memory = shards_.engine(shard).memory();
    granted[shard.value()] = memory.granted_bytes();
    is_short[shard.value()] = memory.is_short();
    co_return Result<void>{};
  };
  while (!stopping_) {
    (void)co_await shards_.on_every(ask);
    const auto most = std::ranges::max_element(granted);
    if (is_short[lender.value()] == 0 || *most <= 0) break;
    const int64_t step = static_cast<int64_t>(shards_.engine(kHomeShard).memory().headroom_bytes());
    const int64_t bytes = std::min({*most, -granted[lender.value()], step});
    const ShardId from{static_cast<uint32_t>(most - granted.begin())};
    const bool moved = co_await move(from, lender, static_cast<size_t>(bytes));
    if (!moved) break;
  }
  auto tell = [this, lender]() -> Async<void> {
    shards_.engine(lender).memory().called_back();
    co_return;
  };
  co_await shards_.mailbox(kHomeShard).call_on(lender, std::move(tell));
}

Async<bool> CacheLoans::move(ShardId from, ShardId to, size_t bytes) {
  auto give = [this, from, bytes] { return shards_.engine(from).give_memory(bytes, kMostWaitUs); };
  const bool given = co_await shards_.mailbox(kHomeShard).call_on(from, std::move(give));
  if (!given) co_return false;
  auto take = [this, to, bytes]() -> Async<void> {
    shards_.engine(to).memory().grant(static_cast<int64_t>(bytes));
    co_return;
  };
  co_await shards_.mailbox(kHomeShard).call_on(to, std::move(take));
  co_return true;
}

}  // namespace cellar::engine
