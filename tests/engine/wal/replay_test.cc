// What a start recovers from the logs: of each tablet the commits of its epoch inside its spans.
#include "engine/wal/replay.h"

#include "engine/store/log/local_log_store.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

constexpr LogId kLater = make_log_id(SessionEpoch{4}, 1);

// Collects the payloads that it is given.
struct Target final : ReplayTarget {
  Result<void> replay(CommitStamp, Bytes payload) override {
    if (payload == refused) return fail(Errc::data_loss, "not a commit");
    seen.emplace_back(payload);
    return {};
  }
  std::vector<std::string> seen;
  std::string refused;
};

class ReplayTest : public testing::Test {
 protected:
  // Appends the entry, waits until it is durable, and returns its end.
  LogPosition append(Log& log, uint64_t tablet, uint64_t epoch, const std::string& payload) {
    Append append(order_, 0);
    expect_ok(log.append({TabletId{tablet}, Epoch{epoch}, CommitStamp{++stamp_}, payload}, append));
    EXPECT_TRUE(rig_.world.run_until([&] { return append.is_done; }));
    return append.end;
  }
  std::unique_ptr<Log> create(LogId id) { return value_of(rig_.run(logs_.create(id))); }
  void seal(std::unique_ptr<Log> log) { (void)value_of(rig_.run(log->seal())); }
  Result<ReplayReport> replay() { return rig_.run(ReplayPlan::run(std::move(plan_), logs_)); }

  using Seen = std::vector<std::string>;
  MemDisk disk_;
  StoreRig rig_{disk_};
  LocalLogStore logs_{*rig_.fs, rig_.runtime, small_log()};
  ReplayPlan plan_;
  Target target_;

 private:
  std::vector<int> order_;
  uint64_t stamp_ = 0;
};

TEST_F(ReplayTest, ASpanBeginsBehindItsFirstPositionAndEndsWithItsLast) {
  auto log = create(kLog);
  const LogPosition flushed = append(*log, 1, 1, "flushed");
  append(*log, 1, 1, "a");
  const LogPosition last = append(*log, 1, 1, "b");
  append(*log, 1, 1, "of the next span");
  seal(std::move(log));
  plan_.add(TabletId{1}, Epoch{1}, {{kLog, flushed, last}}, target_);
  const auto report = value_of(replay());
  EXPECT_EQ(target_.seen, (Seen{"a", "b"}));
  EXPECT_EQ(report.commits, 2u);
  EXPECT_EQ(report.bytes, 2u);
}

// A tablet that was moved away and has come back.
TEST_F(ReplayTest, CommitsOfAnotherEpochAreNotTheTablets) {
  auto log = create(kLog);
  append(*log, 1, 1, "before the move");
  append(*log, 1, 3, "after it");
  seal(std::move(log));
  plan_.add(TabletId{1}, Epoch{3}, {{kLog, kLogBegin, kLogEnd}}, target_);
  EXPECT_EQ(value_of(replay()).commits, 1u);
  EXPECT_EQ(target_.seen, (Seen{"after it"}));
}

TEST_F(ReplayTest, EachTabletGetsItsOwnFromAllLogsTheOldestFirst) {
  auto log = create(kLog);
  append(*log, 1, 1, "a");
  append(*log, 2, 1, "other a");
  append(*log, 9, 1, "of a dropped table");
  auto later = create(kLater);
  append(*later, 2, 1, "other b");
  append(*later, 1, 1, "b");
  seal(std::move(log));
  seal(std::move(later));
  Target other;
  plan_.add(TabletId{1}, Epoch{1}, {{kLater, kLogBegin, kLogEnd}, {kLog, kLogBegin, kLogEnd}},
            target_);
  plan_.add(TabletId{2}, Epoch{1}, {{kLog, kLogBegin, kLogEnd}}, other);
  EXPECT_EQ(value_of(replay()).commits, 3u);
  EXPECT_EQ(target_.seen, (Seen{"a", "b"}));
  EXPECT_EQ(other.seen, (Seen{"other a"}));
}

TEST_F(ReplayTest, AMissingOrShortenedLogIsDataLoss) {
  plan_.add(TabletId{1}, Epoch{1}, {{kLater, kLogBegin, kLogEnd}}, target_);
  EXPECT_EQ(replay().error().code, Errc::data_loss);

  auto log = create(kLog);
  const LogPosition end = append(*log, 1, 1, "a");
  seal(std::move(log));
  plan_ = {};
  plan_.add(TabletId{1}, Epoch{1}, {{kLog, kLogBegin, LogPosition{end.value() + 1}}}, target_);
  const auto shortened = replay();
  ASSERT_FALSE(shortened);
  EXPECT_EQ(shortened.error().code, Errc::data_loss);
  EXPECT_NE(shortened.error().message.find("an earlier start read it up to"), std::string::npos);
}

TEST_F(ReplayTest, AnEntryThatIsNoCommitNamesItsPlace) {
  auto log = create(kLog);
  append(*log, 1, 1, "broken");
  seal(std::move(log));
  target_.refused = "broken";
  plan_.add(TabletId{1}, Epoch{1}, {{kLog, kLogBegin, kLogEnd}}, target_);
  const auto refused = replay();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::data_loss);
  EXPECT_NE(refused.error().message.find("tablet 1: not a commit"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace cellar::engine
