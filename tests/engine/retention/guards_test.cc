#include "engine/retention/guards.h"

#include <gtest/gtest.h>

namespace cellar::engine {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'469'030'400 * kSecond;  // the instant of worked example 4
constexpr int64_t kDay = 86'400 * kSecond;

RetentionRule age(int64_t us) { return RetentionRule::max_age_us(us); }
RetentionRule versions(int64_t n) { return RetentionRule::max_versions(n); }

struct Cell {
  int64_t timestamp_us = kNow;
  int64_t expire_at_us = kNoExpiry;
  int64_t ttl_us = kNoTtl;
};

class Guards : public ::testing::Test {
 protected:
  FamilySchema& family() { return family_; }

  // "OK" or the status; the message is kept in message_.
  std::string check(std::vector<Cell> cells, int64_t now_us = kNow) {
    TableSchema schema;
    schema.name = "t";
    family_.name = "f";
    FamilySchema open;
    open.name = "a";
    schema.families = {open, family_};
    std::vector<Mutation> ops(1);
    ops[0].kind = Mutation::Kind::delete_from_row;
    for (const Cell& cell : cells) {
      Mutation& op = ops.emplace_back();
      op.family = "f";
      op.timestamp_us = cell.timestamp_us;
      op.expire_at_us = cell.expire_at_us;
      op.ttl_us = cell.ttl_us;
    }
    if (ops.size() == 2) ops.erase(ops.begin());
    const auto checked = WriteGuards(schema).check({"r", ops}, now_us);
    message_ = checked ? "" : checked.error().message;
    return checked ? "OK" : checked.error().code == Errc::out_of_range ? "OUT_OF_RANGE" : "other";
  }
  std::string check(int64_t timestamp_us, int64_t now_us = kNow) {
    return check(std::vector<Cell>{{timestamp_us}}, now_us);
  }

  FamilySchema family_;
  std::string message_;
};

TEST(FatalAge, IsThatOfAgeAlone) {
  EXPECT_EQ(fatal_age_us({}), std::nullopt);
  EXPECT_EQ(fatal_age_us(age(5000)), 5000);
  EXPECT_EQ(fatal_age_us(versions(1)), std::nullopt);
  EXPECT_EQ(fatal_age_us(RetentionRule::union_of({age(5000), versions(1), age(3000)})), 3000);
  EXPECT_EQ(fatal_age_us(RetentionRule::union_of({versions(2), versions(1)})), std::nullopt);
  EXPECT_EQ(fatal_age_us(RetentionRule::intersection_of({age(5000), age(9000)})), 9000);
  EXPECT_EQ(fatal_age_us(RetentionRule::intersection_of({age(5000), versions(1)})), std::nullopt);
  EXPECT_EQ(fatal_age_us(
                RetentionRule::union_of({RetentionRule::intersection_of({age(5000), versions(1)}),
                                         RetentionRule::intersection_of({age(7000), age(6000)})})),
            7000);
}

TEST_F(Guards, WithoutARuleOrAWindowEveryTimestampIsTaken) {
  EXPECT_EQ(check(0), "OK");
  EXPECT_EQ(check(kMaxTimestampUs), "OK");
  EXPECT_EQ(check(kServerStamped), "OK");
}

TEST_F(Guards, WhatIsOlderThanTheAgeWouldBeBornDead) {
  family().rule = age(kDay);
  EXPECT_EQ(check(kNow - kDay), "OK");
  EXPECT_EQ(check(kNow - kDay - 1), "OUT_OF_RANGE");
  EXPECT_NE(message_.find(std::to_string(kNow - kDay - 1)), std::string::npos) << message_;
  EXPECT_NE(message_.find("maxage=1d"), std::string::npos) << message_;
  EXPECT_NE(message_.find(std::to_string(kNow)), std::string::npos) << message_;
  EXPECT_EQ(check(kMaxTimestampUs), "OK");
  EXPECT_EQ(check(kServerStamped), "OK");
  family().rule = age(INT64_MAX);
  EXPECT_EQ(check(0), "OK");
  EXPECT_EQ(check(0, INT64_MAX), "OK");
  family().rule = age(INT64_MAX - 1);
  EXPECT_EQ(check(0, INT64_MAX), "OUT_OF_RANGE");
  family().born_dead = BornDead::accept;
  EXPECT_EQ(check(0, INT64_MAX), "OK");
}

TEST_F(Guards, VersionsNeverRefuse) {
  family().rule = RetentionRule::intersection_of({age(1000), versions(1)});
  EXPECT_EQ(check(0), "OK");
  family().rule = RetentionRule::union_of({age(1000), versions(1)});
  EXPECT_EQ(check(kNow - 1001), "OUT_OF_RANGE");
  EXPECT_EQ(check(kNow - 1000), "OK");
}

TEST_F(Guards, AnExpiryOfItsOwnTakesThePlaceOfTheAge) {
  family().rule = age(1000);
  EXPECT_EQ(check(std::vector<Cell>{{0, kNow}}), "OK") << "dies after this instant";
  EXPECT_EQ(check(std::vector<Cell>{{kNow, kNow - 1}}), "OUT_OF_RANGE");
  EXPECT_NE(message_.find("expiry " + std::to_string(kNow - 1)), std::string::npos) << message_;
  EXPECT_EQ(check(std::vector<Cell>{{0, kNoExpiry, 0}}), "OK");
  EXPECT_EQ(check(std::vector<Cell>{{kServerStamped, kNow - 1}}), "OUT_OF_RANGE");
  family().rule = {};
  EXPECT_EQ(check(std::vector<Cell>{{kNow, kNow - 1}}), "OUT_OF_RANGE") << "in any family";
  family().born_dead = BornDead::accept;
  EXPECT_EQ(check(std::vector<Cell>{{kNow, 0}}), "OK");
}

TEST_F(Guards, AWindowIsClosedBelowAndOpenAbove) {
  family().window = {10 * kSecond, 5 * kSecond, WriteWindow::Unit::exact};
  EXPECT_EQ(check(kNow - 10 * kSecond), "OK");
  EXPECT_EQ(check(kNow - 10 * kSecond - 1), "OUT_OF_RANGE");
  EXPECT_EQ(check(kNow + 5 * kSecond - 1), "OK");
  EXPECT_EQ(check(kNow + 5 * kSecond), "OUT_OF_RANGE");
  family().window = {std::nullopt, 0, WriteWindow::Unit::exact};
  EXPECT_EQ(check(0), "OK");
  EXPECT_EQ(check(kNow), "OUT_OF_RANGE");
  EXPECT_EQ(check(kServerStamped), "OK") << "in every window";
  family().window = {0, std::nullopt, WriteWindow::Unit::exact};
  EXPECT_EQ(check(kMaxTimestampUs), "OK");
  EXPECT_EQ(check(kNow - 1), "OUT_OF_RANGE");
}

TEST_F(Guards, TheWholeSecondsOfWorkedExampleFour) {
  family().window = {kDay, kDay, WriteWindow::Unit::seconds};
  constexpr int64_t kMilli = 1000;
  EXPECT_EQ(check(1'468'944'000'000 * kMilli), "OK");
  EXPECT_EQ(check(1'469'116'799'999 * kMilli), "OK");
  EXPECT_EQ(check(1'468'943'999'000 * kMilli), "OUT_OF_RANGE");
  EXPECT_EQ(check(1'469'116'800'000 * kMilli), "OUT_OF_RANGE");
  // With the unit of a second, fractions of the clock and of the timestamp do not count.
  EXPECT_EQ(check(1'468'944'000'000 * kMilli, kNow + kSecond - 1), "OK");
  EXPECT_EQ(check(1'468'944'000'999 * kMilli, kNow + kSecond), "OUT_OF_RANGE");
}

TEST_F(Guards, TheAgeNarrowsAWindowButNotForACellWithItsOwnExpiry) {
  family().rule = age(kDay);
  family().window = {2 * kDay, 2 * kDay, WriteWindow::Unit::exact};
  EXPECT_EQ(check(kNow - kDay), "OK");
  EXPECT_EQ(check(kNow - kDay - 1), "OUT_OF_RANGE");
  EXPECT_EQ(check(std::vector<Cell>{{kNow - 2 * kDay, kNow + 1}}), "OK");
  EXPECT_EQ(check(std::vector<Cell>{{kNow - 2 * kDay - 1, kNow + 1}}), "OUT_OF_RANGE");
  EXPECT_EQ(check(std::vector<Cell>{{kNow - 2 * kDay, kNoExpiry, 1}}), "OK");
  family().born_dead = BornDead::accept;
  EXPECT_EQ(check(kNow - kDay - 1), "OUT_OF_RANGE") << "by the window";
  // In whole seconds the window accepts a cell that is dead by a fraction; a cell that is dead when
  // written is judged exactly all the same.
  family().window.unit = WriteWindow::Unit::seconds;
  EXPECT_EQ(check(kNow - kDay, kNow + 1), "OK");
  family().born_dead = BornDead::refuse;
  EXPECT_EQ(check(kNow - kDay, kNow + 1), "OUT_OF_RANGE");
}

TEST_F(Guards, BoundsThatLieBeyondAllTimeSaturate) {
  for (const auto unit : {WriteWindow::Unit::exact, WriteWindow::Unit::seconds}) {
    family().window = {INT64_MAX, INT64_MAX, unit};
    for (const int64_t now : {int64_t{0}, kNow, INT64_MAX}) {
      EXPECT_EQ(check(0, now), "OK");
      EXPECT_EQ(check(kMaxTimestampUs, now), now == 0 ? "OUT_OF_RANGE" : "OK");
    }
  }
}

TEST_F(Guards, OneCellOutOfRangeFailsTheRowAndIsNamed) {
  family().window = {kSecond, kSecond, WriteWindow::Unit::exact};
  EXPECT_EQ(check({{kNow}, {kNow + kSecond}, {0}}), "OUT_OF_RANGE");
  EXPECT_EQ(message_.substr(0, 13), "operation 2: ");
}

}  // namespace
}  // namespace cellar::engine
