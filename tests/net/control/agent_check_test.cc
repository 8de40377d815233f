// The answers to the agent check of a proxy.
#include "net/server/control/agent_check.h"

#include <gtest/gtest.h>

#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"

namespace cellar::server {
namespace {

TEST(AgentCheck, SaysEachStateInTheProxysWords) {
  EXPECT_EQ(agent_answer(NodeState::starting, 0), "maint\n");
  EXPECT_EQ(agent_answer(NodeState::draining, 0), "drain\n");
  EXPECT_EQ(agent_answer(NodeState::read_only, 0), "down#read-only\n");
  EXPECT_EQ(agent_answer(NodeState::disk_hung, 0), "down#disk-hung\n");
  EXPECT_EQ(agent_answer(NodeState::broken, 0), "down#broken\n");
  EXPECT_EQ(agent_answer(NodeState::ready, 0), "ready up 100%\n");
  EXPECT_EQ(agent_answer(NodeState::ready, 0.5), "ready up 50%\n");
  EXPECT_EQ(agent_answer(NodeState::ready, 0.51), "ready up 50%\n");
  EXPECT_EQ(agent_answer(NodeState::ready, 1), "ready up 5%\n") << "0 would take the node out";
  EXPECT_EQ(agent_answer(NodeState::ready, 7), "ready up 5%\n");
  EXPECT_EQ(agent_answer(NodeState::ready, -1), "ready up 100%\n");
}

Async<void> ask(Network& network, std::string& line, bool& ended) {
  auto stream = co_await network.connect("node", 9001, 1'000'000);
  std::array<std::byte, 64> buffer;
  while (stream) {
    const auto n = co_await (*stream)->read_some(buffer);
    if (!n || *n == 0) break;
    line.append(reinterpret_cast<const char*>(buffer.data()), *n);
  }
  if (stream) (*stream)->close();
  ended = true;
}

TEST(AgentCheck, AnswersEveryConnectionUntilItIsStopped) {
  SimWorld world(1);
  SimFabric fabric(world);
  SimLoop& loop = world.add_loop();
  SimNetwork network(fabric, loop);
  Readiness readiness(world.clock());
  auto listening = world.block_on(loop, network.listen("node", 9001, false));
  ASSERT_TRUE(listening);
  AgentCheck agent(loop.executor(), loop.timers(), *std::move(listening), readiness, 2);
  agent.start();
  const auto answer = [&] {
    std::string line;
    bool ended = false;
    spawn(loop.executor(), ask(network, line, ended));
    EXPECT_TRUE(world.run_until([&] { return ended; }));
    return line;
  };
  EXPECT_EQ(answer(), "maint\n");
  readiness.serve(1);
  EXPECT_TRUE(answer().starts_with("ready up "));
  readiness.drain(true);
  EXPECT_EQ(answer(), "drain\n");
  readiness.drain(false);
  EXPECT_TRUE(answer().starts_with("ready up "));
  readiness.stop();
  EXPECT_EQ(answer(), "drain\n");
  world.block_on(loop, agent.stop());
  EXPECT_EQ(answer(), "");
}

}  // namespace
}  // namespace cellar::server
