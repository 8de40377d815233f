#include <gtest/gtest.h>

#include "io/sim/sim_loop.h"
#include "net/server/control/reload.h"

namespace cellar::server {
namespace {

ReloadPlan plan_of(std::string_view name) {
  ReloadPlan plan;
  plan.changed.push_back({name, "1", "2"});
  return plan;
}

class ReloadDeskTest : public testing::Test {
 protected:
  using Outcome = std::optional<Result<ReloadPlan>>;
  void ask(Outcome& into) {
    auto wait = [](ReloadQueue& on, Outcome& out) -> Async<void> { out = co_await on.reload(); };
    spawn(loop.executor(), wait(queue, into));
    world.run_until_idle();
  }

  SimWorld world{1};
  SimLoop& loop = world.add_loop();
  ReloadQueue queue;
};

TEST_F(ReloadDeskTest, OneReloadServesAllWhoAskedBeforeIt) {
  Outcome early, first, second, later;
  ask(early);
  EXPECT_EQ(early->error().code, Errc::unavailable) << "nobody takes wishes yet";
  queue.open();
  EXPECT_FALSE(queue.wanted());
  ask(first);
  ask(second);
  const uint64_t wish = queue.wanted().value();
  ask(later);  // the files may have been read already
  queue.complete(wish, plan_of("a"));
  world.run_until_idle();
  EXPECT_EQ(first->value().changed[0].name, "a");
  EXPECT_EQ(second->value().changed[0].name, "a");
  EXPECT_FALSE(later);
  queue.complete(queue.wanted().value(), fail(Errc::failed_precondition, "bad"));
  world.run_until_idle();
  EXPECT_EQ(later->error().message, "bad");
  EXPECT_FALSE(queue.wanted());
}

TEST_F(ReloadDeskTest, WhoWaitsIsToldThatTheNodeEnds) {
  Outcome waits, late;
  queue.open();
  ask(waits);
  EXPECT_FALSE(waits);
  queue.close();
  ask(late);
  EXPECT_EQ(waits->error().code, Errc::unavailable);
  EXPECT_EQ(late->error().code, Errc::unavailable);
  EXPECT_FALSE(queue.wanted());
}

}  // namespace
}  // namespace cellar::server
