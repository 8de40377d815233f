#include "bench/embedded/flow_watch.h"

#include <chrono>

#include <boost/json/array.hpp>

#include "engine/shard_figures.h"

namespace cellar::bench {

FlowWatch::FlowWatch(Bed& bed) : bed_(bed), looks_(bed.shards()) {
  look();
  thread_ = std::jthread([this] {
    auto next = std::chrono::steady_clock::now();
    while (!over_) {
      next += std::chrono::milliseconds(kEveryMs);
      std::this_thread::sleep_until(next);
      look();
    }
  });
}

void FlowWatch::look() {
  bed_.pool().run_on_all([this](Shard& shard) -> Async<void> {
    const engine::Engine& engine = bed_.node().engine(shard.id());
    const engine::FlowFigures flow = engine.flow_figures();
    const engine::ShardFigures figures = engine.shard_figures();
    looks_[shard.id().value()].push_back({.runs_behind = flow.runs_behind,
                                          .runs = flow.runs,
                                          .memtables = flow.memtables,
                                          .log = flow.log,
                                          .flushed_bytes = figures.flushed_bytes,
                                          .merged_bytes = figures.compacted_bytes,
                                          .held = flow.held});
    co_return;
  });
}

void FlowWatch::report(boost::json::object& out) {
  over_ = true;
  thread_.join();
  boost::json::array shards;
  for (const std::vector<Look>& looks : looks_) {
    boost::json::object shard;
    const auto add = [&looks, &shard](const char* name, auto value) {
      boost::json::array values;
      for (size_t i = 1; i < looks.size(); ++i) values.push_back(value(looks[i], looks[i - 1]));
      shard[name] = values;
    };
    add("runs_behind", [](const Look& now, const Look&) { return now.runs_behind; });
    add("runs", [](const Look& now, const Look&) { return now.runs; });
    add("memtables", [](const Look& now, const Look&) { return now.memtables; });
    add("log", [](const Look& now, const Look&) { return now.log; });
    add("held", [](const Look& now, const Look& last) { return now.held - last.held; });
    add("flushed_bytes",
        [](const Look& now, const Look& last) { return now.flushed_bytes - last.flushed_bytes; });
    add("merged_bytes",
        [](const Look& now, const Look& last) { return now.merged_bytes - last.merged_bytes; });
    shards.push_back(shard);
  }
  out["shards"] = shards;
}

}  // namespace cellar::bench
