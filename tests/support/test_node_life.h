// Internals shared by the sources of TestNode.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "io/base/check.h"
#include "tests/support/sim_machine.h"
#include "tests/support/test_node.h"

namespace cellar::support {

// One lifetime of the process: everything in it is destroyed together, the node before its machine.
struct TestNode::Life : SimMachine {
  using SimMachine::SimMachine;

  std::unique_ptr<engine::ManifestStore> manifest;
  std::unique_ptr<engine::Node> node;
};

template <class T>
T TestNode::block_on(uint32_t shard, Async<T> work) {
  std::optional<T> result;
  spawn(life_->shards[shard].loop->executor(), detail::run_into(std::move(work), result));
  const bool done = run_until([&] { return result.has_value(); });
  CHECK(done, "the world went idle before the work was done (seed {})", options_.seed);
  return std::move(*result);
}

}  // namespace cellar::support
