#include "net/server/shard/clock_gate.h"

#include "engine/node/clock_keeper.h"
#include "io/base/time_text.h"
#include "net/server/shard/local_shard.h"

namespace cellar::server {
namespace {

constexpr uint32_t kLagRetryAfterMs = 1000;

}  // namespace

Async<Result<void>> admit_by_time(LocalShard& shard) {
  if (!shard.clock().stands() || shard.node().read_only_start() != nullptr) {
    co_return Result<void>{};
  }
  const int64_t lag_us = co_await shard.node().catch_up(shard.id());
  if (lag_us <= engine::ClockKeeper::kMaxLagUs) co_return Result<void>{};
  Error error(Errc::unavailable,
              fmt::format("trusted time lags {} behind, more than {}, because no anchor of the "
                          "clock could be written",
                          duration_text(lag_us), duration_text(engine::ClockKeeper::kMaxLagUs)));
  co_return std::unexpected(std::move(error).retry_after(kLagRetryAfterMs));
}

}  // namespace cellar::server
