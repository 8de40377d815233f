// What the simulated cluster reveals of callers: wrong ones fail in some seeds, the model caller in
// none.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "io/sim/remote/sim_rados.h"
#include "tests/io/remote/guarded_lane.h"

namespace cellar::test {
namespace {

constexpr int kSeeds = 300;
constexpr int kBatches = 40;
constexpr int64_t kLaneCallUs = 8'000;  // short: a slow answer is an unknown outcome

struct Verdict {
  std::string violation;  // empty: none
  uint64_t unknown = 0;
  SimRadosCounts counts;
};

// An owner appends; at some time another takes the lane over by a fence; the cluster misbehaves
// throughout.
class Scene {
 public:
  Scene(uint64_t seed, LaneMistake mistake)
      : world_(seed),
        cluster_(world_, {.remembered = 1 + world_.random().below(6), .groups = 1}),
        owner_loop_(world_.add_loop()),
        taker_loop_(world_.add_loop()),
        mistake_(mistake) {
    cluster_.add_pool("log");
    Random& random = world_.random();
    cluster_.faults() = {.lose_request = 0.05 * random.unit(),
                         .lose_reply = 0.15 * random.unit(),
                         .duplicate_request = 0.1 * random.unit(),
                         .duplicate_reply = 0.1 * random.unit(),
                         .delay = 0.15 * random.unit(),
                         .delay_us = 60'000};
    owner_ = cluster_.connect(owner_loop_);
    taker_ = cluster_.connect(taker_loop_);
    filler_ = cluster_.connect(taker_loop_);
  }

  Verdict play() {
    spawn(owner_loop_.executor(), [this] { return own(); });
    spawn(taker_loop_.executor(), [this] { return take_over(); });
    spawn(taker_loop_.executor(), [this] { return trouble(); });
    const bool over =
        world_.run_until([this] { return owner_over_ && taker_over_; }, int64_t{600} * 1'000'000);
    over_ = true;
    world_.run_for_us(5'000'000);  // everything that is still on its way arrives
    Verdict verdict;
    verdict.unknown = unknown_;
    verdict.counts = cluster_.counts();
    verdict.violation = over ? judge() : "it hangs";
    world_.block_on(owner_loop_, owner_->close());
    world_.block_on(taker_loop_, taker_->close());
    world_.block_on(taker_loop_, filler_->close());
    return verdict;
  }

 private:
  Async<void> own() {
    auto pool = co_await owner_->open_pool("log", "");
    GuardedLane lane(*owner_, owner_loop_.timers(), {*pool, "lane"}, "7", kLaneCallUs, mistake_);
    co_await lane.create();
    created_ = true;
    for (int i = 0; i < kBatches; ++i) {
      const uint64_t at = lane.end();
      const std::string batch = fmt::format("[batch {:04}]", i);
      const auto fate = co_await lane.append(batch);
      if (fate == GuardedLane::Fate::applied) acknowledged_[at] = batch;
      if (fate == GuardedLane::Fate::broken) {
        broken_ = true;
        break;
      }
      if (fate != GuardedLane::Fate::applied && mistake_ != LaneMistake::other_bytes_in_place) {
        denied_.push_back(batch);
      }
      if (fate == GuardedLane::Fate::fenced) break;
    }
    unknown_ = lane.unknown();
    owner_over_ = true;
  }

  Async<void> take_over() {
    auto pool = co_await taker_->open_pool("log", "");
    while (!created_) co_await sleep_us(taker_loop_.timers(), 1'000);
    co_await sleep_us(taker_loop_.timers(), static_cast<int64_t>(world_.random().below(150'000)));
    GuardedLane lane(*taker_, taker_loop_.timers(), {*pool, "lane"}, "8", kLaneCallUs);
    fenced_end_ = co_await lane.fence();
    fenced_content_ = co_await lane.content();
    taker_over_ = true;
  }

  // Failovers, hangs, and writes to other objects, which push results out of the group's memory.
  Async<void> trouble() {
    auto pool = co_await filler_->open_pool("log", "");
    for (int i = 0; !over_; ++i) {
      co_await sleep_us(taker_loop_.timers(), static_cast<int64_t>(world_.random().below(12'000)));
      if (world_.random().one_in(20)) cluster_.fail_over();
      if (world_.random().one_in(20)) cluster_.hang_us(10'000);
      RadosObject other{*pool, fmt::format("other-{}", i % 5)};
      RadosWrite write;
      write.write_full("x");
      (void)co_await filler_->write(std::move(other), std::move(write), 100'000);
    }
  }

  std::string judge() const {
    const SimRadosObject* lane = cluster_.peek("log", "", "lane");
    if (lane == nullptr) return "there is no lane";
    if (broken_) return "the lane has an end that its only writer has not made";
    if (lane->content.substr(0, fenced_end_) != fenced_content_.substr(0, fenced_end_)) {
      return "the content changed after the fence";
    }
    for (const auto& [at, batch] : acknowledged_) {
      if (at + batch.size() > fenced_end_) {
        return fmt::format("'{}' was acknowledged at {}, and the fence found the end {}", batch, at,
                           fenced_end_);
      }
      if (lane->content.substr(at, batch.size()) != batch) {
        return fmt::format("'{}' was acknowledged at {}, where '{}' is", batch, at,
                           lane->content.substr(at, batch.size()));
      }
    }
    for (const std::string& batch : denied_) {
      if (fenced_content_.find(batch) == std::string::npos) continue;
      return fmt::format("'{}' is there, of which its caller says that it was not made", batch);
    }
    return {};
  }

  SimWorld world_;
  SimRados cluster_;
  SimLoop& owner_loop_;
  SimLoop& taker_loop_;
  const LaneMistake mistake_;
  std::unique_ptr<RadosPort> owner_;
  std::unique_ptr<RadosPort> taker_;
  std::unique_ptr<RadosPort> filler_;
  bool created_ = false;
  bool owner_over_ = false;
  bool taker_over_ = false;
  bool over_ = false;
  bool broken_ = false;
  uint64_t unknown_ = 0;
  std::map<uint64_t, std::string> acknowledged_;  // by position
  std::vector<std::string> denied_;
  uint64_t fenced_end_ = 0;
  std::string fenced_content_;
};

TEST(RadosCallers, TheModelCallerIsRightInEverySeed) {
  uint64_t unknown = 0;
  SimRadosCounts sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Verdict verdict = Scene(seed, LaneMistake::none).play();
    EXPECT_EQ(verdict.violation, "") << "seed " << seed;
    unknown += verdict.unknown;
    sum.recognised += verdict.counts.recognised;
    sum.made_unawaited += verdict.counts.made_unawaited;
    sum.stale_replies += verdict.counts.stale_replies;
    sum.refused += verdict.counts.refused;
  }
  // The cluster was hostile: otherwise the test says nothing.
  EXPECT_GT(unknown, 100u);
  EXPECT_GT(sum.recognised, 100u);
  EXPECT_GT(sum.made_unawaited, 100u);
  EXPECT_GT(sum.stale_replies, 100u);
  EXPECT_GT(sum.refused, 100u);
}

class WrongCallers : public testing::TestWithParam<std::pair<LaneMistake, const char*>> {};

TEST_P(WrongCallers, AreFound) {
  int found = 0;
  std::string example;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Verdict verdict = Scene(seed, GetParam().first).play();
    if (verdict.violation.empty()) continue;
    ++found;
    example = fmt::format("seed {}: {}", seed, verdict.violation);
  }
  RecordProperty("found", found);
  EXPECT_GE(found, 3) << "of " << kSeeds << " seeds";
  std::printf("%s: %d of %d seeds; %s\n", GetParam().second, found, kSeeds, example.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, WrongCallers,
    testing::Values(std::pair(LaneMistake::no_guard, "NoGuard"),
                    std::pair(LaneMistake::no_end_guard, "NoEndGuard"),
                    std::pair(LaneMistake::unknown_is_applied, "UnknownIsApplied"),
                    std::pair(LaneMistake::unknown_is_failed, "UnknownIsFailed"),
                    std::pair(LaneMistake::refused_is_failed, "RefusedIsFailed"),
                    std::pair(LaneMistake::other_bytes_in_place, "OtherBytesInPlace")),
    [](const auto& info) { return info.param.second; });

}  // namespace
}  // namespace cellar::test
