#include "engine/node/node_clocks.h"

#include <utility>

namespace cellar::engine {

NodeClocks::NodeClocks(NodeShards& shards, ManifestStore& manifest, const EngineOptions& options)
    : shards_(shards),
      keeper_(
          shards_.home().runtime, manifest, *this,
          {.max_trusted_gap_us = options.max_trusted_gap_us, .permit_us = options.clock_permit_us},
          options.clock_renew_us),
      asked_(shards_.count()) {}

Async<Result<std::vector<ClockPoint>>> NodeClocks::begin_lines() {
  std::vector<ClockPoint> points(shards_.count());
  auto begin = [this, &points](ShardId shard) -> Async<Result<void>> {
    points[shard.value()] = shards_.env(shard).runtime.clock.begin_line();
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards_.on_every(std::move(begin)));
  co_return points;
}

Async<Result<void>> NodeClocks::spread(ClockAnchor anchor) {
  auto install = [this, anchor](ShardId shard) -> Async<Result<void>> {
    shards_.env(shard).runtime.clock.anchor(anchor);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(install));
}

Async<Result<void>> NodeClocks::listen(bool yes) {
  auto install = [this, yes](ShardId shard) -> Async<Result<void>> {
    AskedClock& asked = asked_[shard.value()] = {this, shard};
    const auto tell = [](void* context) {
      const auto& one = *static_cast<AskedClock*>(context);
      one.clocks->asked(one.shard);
    };
    if (yes) {
      shards_.env(shard).runtime.clock.on_asked(tell, &asked);
    } else {
      shards_.env(shard).runtime.clock.on_asked(nullptr, nullptr);
    }
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(install));
}

void NodeClocks::asked(ShardId shard) {
  if (shard == kHomeShard) return keeper_.asked();
  shards_.mailbox(shard).post_on(kHomeShard, [this] { keeper_.asked(); });
}

}  // namespace cellar::engine
