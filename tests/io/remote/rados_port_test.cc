// What RadosPort itself does, whatever its body: bounds, waiting, time limits, late answers. The
// cluster is a simulated one that can be made to stand still.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "io/sim/remote/sim_rados.h"

namespace cellar {
namespace {

constexpr int64_t kSecond = 1'000'000;

class RadosPortTest : public testing::Test {
 protected:
  using Answer = std::optional<Result<RadosOutcome>>;

  RadosPortTest() { cluster_.add_pool("p"); }
  ~RadosPortTest() override {
    if (port_ != nullptr) world_.block_on(loop_, port_->close());
  }
  void connect(RadosShare share) {
    port_ = cluster_.connect(loop_, share);
    pool_ = world_.block_on(loop_, port_->open_pool("p", "")).value();
  }
  // Starts a write; its answer comes while the world runs.
  void start(std::string name, RadosWrite write, int64_t timeout_us, Answer& answer) {
    spawn(loop_.executor(),
          [this, &answer, name = std::move(name), write = std::move(write),
           timeout_us]() mutable -> Async<void> {
            RadosObject object{pool_, std::move(name)};
            answer = co_await port_->write(std::move(object), std::move(write), timeout_us);
          });
  }
  static RadosWrite full(std::string content) {
    RadosWrite write;
    write.write_full(std::move(content));
    return write;
  }
  template <class T>
  static bool is(const Answer& answer) {
    return answer && *answer && std::holds_alternative<T>(**answer);
  }

  SimWorld world_{11};
  SimRados cluster_{world_};
  SimLoop& loop_ = world_.add_loop();
  std::unique_ptr<RadosPort> port_;
  RadosPool pool_;
};

TEST_F(RadosPortTest, TheSharesOfAHandleAddUpToItsBounds) {
  for (uint32_t shards = 1; shards <= RadosPort::kMaxShardsOfHandle; ++shards) {
    const RadosShare share = RadosPort::share_of(shards);
    EXPECT_LE(share.operations * shards, RadosPort::kMaxInFlight);
    EXPECT_LE(share.bytes * shards, RadosPort::kMaxBytesInFlight);
    EXPECT_GE(share.bytes, RadosPort::kMaxCallBytes) << "a call would never be sent";
  }
}

TEST_F(RadosPortTest, ACallWhoseTimeIsUpBeforeItIsSentIsAnErrorAndIsNeverMade) {
  connect({1, RadosPort::kMaxBytesInFlight});
  cluster_.hang_us(kSecond);
  Answer first;
  Answer second;
  start("first", full("1"), 60 * kSecond, first);
  start("second", full("2"), kSecond / 10, second);
  world_.run_for_us(kSecond / 2);
  ASSERT_TRUE(second && !*second);
  EXPECT_EQ(second->error().code, Errc::deadline_exceeded);
  EXPECT_EQ(second->error().applied, Applied::not_applied);
  world_.run_for_us(5 * kSecond);
  EXPECT_TRUE(is<RadosApplied>(first));
  EXPECT_EQ(cluster_.peek("p", "", "second"), nullptr);
  EXPECT_EQ(port_->figures().late, 0u);
}

TEST_F(RadosPortTest, ACallThatWasSentIsUnknownAndKeepsItsRoomUntilItsAnswerComes) {
  connect({1, RadosPort::kMaxBytesInFlight});
  cluster_.hang_us(kSecond);
  Answer first;
  Answer second;
  start("first", full("1"), kSecond / 10, first);
  world_.run_for_us(kSecond / 2);
  ASSERT_TRUE(is<RadosUnknown>(first));
  EXPECT_EQ(port_->figures().in_flight, 1u);
  start("second", full("2"), 60 * kSecond, second);
  world_.run_for_us(kSecond / 10);
  EXPECT_EQ(port_->figures().waiting, 1u);
  world_.run_for_us(5 * kSecond);
  EXPECT_TRUE(is<RadosApplied>(second));
  EXPECT_NE(cluster_.peek("p", "", "first"), nullptr) << "it arrived nevertheless";
  EXPECT_EQ(port_->figures().late, 1u);
}

TEST_F(RadosPortTest, TheAnswerOfAnEarlierCallIsNotTakenForThatOfALaterOne) {
  connect(RadosPort::share_of(1));
  cluster_.hang_us(kSecond);
  Answer first;
  Answer second;
  start("lane", full("1").set_xattr("e", "1"), kSecond / 10, first);
  world_.run_for_us(kSecond / 2);
  ASSERT_TRUE(is<RadosUnknown>(first));
  start("lane", RadosWrite().require_xattr("e", "0").write_full("2"), 60 * kSecond, second);
  world_.run_for_us(5 * kSecond);
  ASSERT_TRUE(is<RadosRefused>(second)) << "the first one was applied, and answered first";
  EXPECT_EQ(cluster_.peek("p", "", "lane")->content, "1");
}

TEST_F(RadosPortTest, SoManyCallsWaitAndNoMore) {
  connect({1, RadosPort::kMaxBytesInFlight});
  cluster_.hang_us(kSecond);
  std::vector<Answer> answers(RadosPort::kMaxWaiting + 2);
  for (size_t i = 0; i < answers.size(); ++i) {
    start(fmt::format("{}", i % 10), full("x"), RadosPort::kMaxTimeoutUs, answers[i]);
  }
  world_.run_for_us(1'000);
  EXPECT_EQ(port_->figures().waiting, RadosPort::kMaxWaiting);
  ASSERT_TRUE(answers.back() && !*answers.back());
  EXPECT_EQ(answers.back()->error().code, Errc::resource_exhausted);
  world_.run_for_us(60 * kSecond);
  answers.pop_back();
  for (const Answer& answer : answers) EXPECT_TRUE(is<RadosApplied>(answer));
}

TEST_F(RadosPortTest, AFullPoolIsUnknownWithItsReason) {
  connect(RadosPort::share_of(1));
  cluster_.set_full(true);
  Answer answer;
  start("a", full("x"), kSecond, answer);
  world_.run_for_us(kSecond);
  ASSERT_TRUE(is<RadosUnknown>(answer));
  EXPECT_EQ(std::get<RadosUnknown>(**answer).error.code, Errc::resource_exhausted);
}

TEST_F(RadosPortTest, EveryCallIsAnsweredThroughFailovers) {
  connect(RadosPort::share_of(1));
  std::vector<Answer> answers(200);
  for (size_t i = 0; i < answers.size(); ++i) {
    start(fmt::format("{}", i % 7), full("x"), 600 * kSecond, answers[i]);
  }
  for (int i = 0; i < 50; ++i) {
    world_.run_for_us(2'000);
    cluster_.fail_over();
  }
  world_.run_for_us(60 * kSecond);
  for (const Answer& answer : answers) EXPECT_TRUE(is<RadosApplied>(answer));
  EXPECT_GT(cluster_.counts().lost, 100u);
}

// A loop that crashes with calls in every state leaves nothing behind.
TEST_F(RadosPortTest, ACrashDestroysTheCallsAndWhatTheySentStillTakesPlace) {
  connect({2, RadosPort::kMaxBytesInFlight});
  cluster_.hang_us(kSecond);
  std::vector<Answer> answers(5);
  for (size_t i = 0; i < answers.size(); ++i) {
    start(fmt::format("{}", i), full("x"), 60 * kSecond, answers[i]);
  }
  world_.run_for_us(kSecond / 10);
  loop_.crash();
  port_.reset();
  world_.run_for_us(5 * kSecond);
  EXPECT_NE(cluster_.peek("p", "", "0"), nullptr);
  EXPECT_NE(cluster_.peek("p", "", "1"), nullptr);
  EXPECT_EQ(cluster_.peek("p", "", "2"), nullptr);
  EXPECT_EQ(cluster_.counts().made_unawaited, 2u);
}

}  // namespace
}  // namespace cellar
