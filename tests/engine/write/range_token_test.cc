// Tokens of DropRowRange (SEMANTICS 2): a repetition deletes only where the first attempt had not
// committed, wherever the rows have moved meanwhile, for as long as promised.
#include <gtest/gtest.h>

#include <map>

#include "engine/write/range_tokens.h"
#include "io/sim/faulty_fs.h"
#include "tests/engine/write/range_token_bed.h"
#include "tests/support/durations.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

constexpr int64_t kRangeWindow = 900 * kSecondUs;

TestNodeOptions two_shards() {
  TestNodeOptions options;
  options.shards = 2;
  options.max_latency_us = 300;
  return options;
}

class RangeTokensTest : public testing::Test, protected RangeTokenBed {
 protected:
  explicit RangeTokensTest(TestNodeOptions options = two_shards())
      : RangeTokenBed(std::move(options)) {
    EXPECT_TRUE(node.create_table("t", {"f"}, {"h", "p"}));
  }
  // The first attempt reaches the first two of the three tablets.
  DropAsk half_done() {
    for (const char* row : {"b", "i", "q"}) put(row, "old");
    DropAsk ask;
    ask.issued_us = now_us();
    EXPECT_EQ(drop_where(ask, [](size_t i) { return i == 1; }), "OK");
    EXPECT_EQ(rows(), "q=old ");
    for (const char* row : {"b", "i", "l"}) put(row, "new");
    return ask;
  }
  void expect_the_rest_alone(const DropAsk& ask) {
    EXPECT_EQ(drop(ask), "OK");
    EXPECT_EQ(rows(), "b=new i=new l=new ");
    put("q", "new");
    EXPECT_EQ(drop(ask), "OK") << "once more";
    EXPECT_EQ(rows(), "b=new i=new l=new q=new ");
  }
};

TEST_F(RangeTokensTest, ARepetitionDeletesNothingThatWasWrittenInBetween) {
  for (const char* row : {"b", "i", "q"}) put(row, "old");
  DropAsk ask;
  ask.issued_us = now_us();
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "");
  for (const char* row : {"b", "i", "q"}) put(row, "new");
  for (const char* where : {"in memory", "in tables", "merged", "after a start", "after a kill"}) {
    SCOPED_TRACE(where);
    EXPECT_EQ(drop(ask), "OK");
    EXPECT_EQ(rows(), "b=new i=new q=new ");
    if (std::string(where) == "in memory") ASSERT_TRUE(node.flush("t"));
    if (std::string(where) == "in tables") ASSERT_TRUE(node.compact("t"));
    if (std::string(where) == "merged") cold();
    if (std::string(where) == "after a start") {
      node.kill();
      reopen();
    }
  }
  ask.token = "another";
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "");
}

TEST_F(RangeTokensTest, ARepetitionDeletesWhereTheFirstAttemptHadNotCommitted) {
  expect_the_rest_alone(half_done());
}

TEST_F(RangeTokensTest, TheLogKeepsThemThroughAKill) {
  const DropAsk ask = half_done();
  node.kill();
  reopen();
  expect_the_rest_alone(ask);
}

TEST_F(RangeTokensTest, TheManifestKeepsThemThroughAStart) {
  const DropAsk ask = half_done();
  cold();
  cold();
  expect_the_rest_alone(ask);
}

TEST_F(RangeTokensTest, ManifestAndLogTogetherKeepThem) {
  const DropAsk ask = half_done();
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(drop_in(tablets()[2], ask), "OK");
  put("q", "new");
  node.crash(CrashPolicy::none);
  reopen();
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "b=new i=new l=new q=new ");
}

TEST_F(RangeTokensTest, FollowTheirRowsThroughSplitsMovesAndMerges) {
  const DropAsk ask = half_done();
  ASSERT_TRUE(node.split(tablets()[1].id, "k"));
  for (const auto& tablet : tablets()) {
    ASSERT_TRUE(node.move(tablet.id, tablet.shard.value() == 0 ? 1 : 0));
  }
  // Rows that were deleted and rows that were not, in one tablet.
  ASSERT_EQ(tablets().size(), 4u);
  ASSERT_TRUE(node.merge(tablets()[2].id, tablets()[3].id));
  expect_the_rest_alone(ask);
  ASSERT_TRUE(node.merge(tablets()[1].id, tablets()[2].id));
  ASSERT_TRUE(node.merge(tablets()[0].id, tablets()[1].id));
  ASSERT_TRUE(node.split(tablets()[0].id, "q"));
  cold();
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "b=new i=new l=new q=new ");
}

TEST_F(RangeTokensTest, TheFirstTabletKnowsATokenWhateverItsRange) {
  put("b", "old");
  DropAsk ask;
  ask.start = "q";
  ask.end = "r";
  ask.issued_us = now_us();
  EXPECT_EQ(drop(ask), "OK");
  DropAsk other = ask;
  other.start = "b";
  other.end = "c";
  const auto refused = [&](const char* after) {
    SCOPED_TRACE(after);
    EXPECT_EQ(drop(other), "INVALID_ARGUMENT");
    EXPECT_EQ(rows(), "b=old ");
    EXPECT_EQ(drop(ask), "OK");
  };
  refused("at once");
  ASSERT_TRUE(node.split(tablets()[0].id, "d"));
  refused("a split of the first tablet");
  ASSERT_TRUE(node.merge(tablets()[0].id, tablets()[1].id));
  refused("a merge of the first tablet");
  cold();
  refused("a start");
  node.kill();
  reopen();
  refused("a kill");
  other.client = "you";
  EXPECT_EQ(drop(other), "OK") << "another client's token";
  EXPECT_EQ(rows(), "");
}

TEST_F(RangeTokensTest, FormIsJudgedFirst) {
  DropAsk ask;
  ask.token = std::string(65, 't');
  EXPECT_EQ(drop(ask), "INVALID_ARGUMENT");
  ask.token = "t";
  ask.client = "";
  EXPECT_EQ(drop(ask), "INVALID_ARGUMENT");
  ask.client = "me";
  ask.start = std::string(4097, 'b');
  EXPECT_EQ(drop(ask), "INVALID_ARGUMENT");
  ask.start = "b";
  ask.issued_us = now_us() + 61 * kSecondUs;
  EXPECT_EQ(drop(ask), "INVALID_ARGUMENT");
}

TEST_F(RangeTokensTest, CountForTheirWindowAndNoLonger) {
  put("b", "old");
  DropAsk ask;
  ask.issued_us = now_us();
  EXPECT_EQ(drop(ask), "OK");
  put("b", "new");
  node.world().clock().advance_us(kRangeWindow - kSecondUs);
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "b=new ");
  node.world().clock().advance_us(2 * kSecondUs);
  EXPECT_EQ(drop(ask), "FAILED_PRECONDITION maybe");
  EXPECT_EQ(rows(), "b=new ");
  // The name is free again, for any range.
  ask.end = "d";
  ask.issued_us = now_us();
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "");
  put("b", "newer");
  node.kill();
  reopen();
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "b=newer ");
}

// Rows of the earlier use are merged with rows of the later one.
TEST_F(RangeTokensTest, ANameThatWasFreeAgainIsTheLaterUsesThroughAMerge) {
  DropAsk ask;
  EXPECT_EQ(drop(ask), "OK");
  ASSERT_TRUE(node.flush("t"));
  node.world().clock().advance_us(kRangeWindow + kSecondUs);
  const DropAsk again = half_done();
  ASSERT_TRUE(node.merge(tablets()[1].id, tablets()[2].id));
  expect_the_rest_alone(again);
}

TEST_F(RangeTokensTest, ARepetitionBesideTheFirstDeletesNothingTwice) {
  put("b", "old");
  DropAsk ask;
  ask.issued_us = now_us();
  const auto first = begin(tablets()[0], ask);
  const auto write = node.begin_write("t", "b", {set_cell("f:q", 1000, "new")});
  const auto second = begin(tablets()[0], ask);
  EXPECT_FALSE(second->finished) << "it waits for the first one's commit";
  EXPECT_EQ(wait(*second), "OK");
  EXPECT_TRUE(first->finished);
  EXPECT_EQ(wait(*first), "OK");
  node.wait(*write);
  EXPECT_EQ(rows(), "b=new ");
}

TEST_F(RangeTokensTest, WhatIsRefusedIsNotRemembered) {
  put("b", "old");
  DropAsk ask;
  ask.issued_us = now_us() - kRangeWindow - kSecondUs;
  EXPECT_EQ(drop(ask), "FAILED_PRECONDITION maybe");
  ask.issued_us = now_us();
  ask.end = "c";
  EXPECT_EQ(drop(ask), "OK");
  EXPECT_EQ(rows(), "");
}

TEST_F(RangeTokensTest, TheirMemoryIsBoundedAndFreeAgainWhenTheyHaveEnded) {
  put("b", "old");
  DropAsk ask;
  ask.issued_us = now_us();
  EXPECT_EQ(drop(ask), "OK");
  put("b", "new");
  DropAsk filler;
  filler.start = "a" + std::string(4000, 'a');
  filler.end = "a" + std::string(4000, 'b');
  std::string answer = "OK";
  uint64_t made = 0;
  for (; answer == "OK" && made < 1000; ++made) {
    filler.token = fmt::format("filler{}", made);
    answer = drop(filler);
  }
  EXPECT_EQ(answer, "RESOURCE_EXHAUSTED");
  EXPECT_GT(made, 100u);
  EXPECT_LT(made, engine::kMaxRangeTokenBytes / 8000);
  EXPECT_EQ(drop(ask), "OK") << "a repetition";
  EXPECT_EQ(rows(), "b=new ");
  cold();
  EXPECT_EQ(drop(filler), "RESOURCE_EXHAUSTED");
  EXPECT_GE(node.stats().tokens, made);
  node.world().clock().advance_us(kRangeWindow + kSecondUs);
  EXPECT_EQ(drop(filler), "OK");
  EXPECT_LE(node.stats().tokens, 3u) << "the other shard has had no reason to forget";
}

// Its memtable contains only the token.
TEST_F(RangeTokensTest, ATokenAloneIsFlushedSoThatItKeepsNoLog) {
  DropAsk ask;
  ask.start = "q";
  ask.issued_us = now_us();
  EXPECT_EQ(drop_in(tablets()[0], ask), "OK");
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.stats().tables_on_disk, 0u);
  node.kill();
  reopen();
  EXPECT_EQ(node.node().recovery().replayed_commits, 0u);
  ask.start = "r";
  EXPECT_EQ(drop(ask), "INVALID_ARGUMENT");
}

TEST(RangeTokensOfAFailedLog, ARepetitionIsAsMuchInDoubtAsTheFirst) {
  FaultRules faults;
  TestNodeOptions options;
  options.wrap = [&](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  RangeTokenBed bed(options);
  ASSERT_TRUE(bed.node.create_table("t", {"f"}));
  bed.put("b", "old");
  ASSERT_TRUE(faults.add("write path=log/* error=EIO"));
  DropAsk ask;
  ask.issued_us = bed.now_us();
  EXPECT_EQ(bed.drop(ask), "UNAVAILABLE maybe");
  EXPECT_EQ(bed.drop(ask), "UNAVAILABLE maybe") << "the log stays closed";
  DropAsk other = ask;
  other.token = "other";
  EXPECT_EQ(bed.drop(other), "UNAVAILABLE");
  faults.clear();
  bed.node.crash(CrashPolicy::none);
  bed.reopen();
  EXPECT_EQ(bed.drop(ask), "OK");
  EXPECT_EQ(bed.rows(), "");
}

// ---- random operations

std::string row_name(uint64_t i) { return fmt::format("r{:02}", i); }
constexpr uint64_t kRows = 40;

// One value a row; a token deletes each row once.
class Model {
 public:
  void drop(const DropAsk& ask, const engine::TabletDescriptor& tablet) {
    std::vector<bool>& done = done_[ask.token];
    done.resize(kRows);
    for (uint64_t i = 0; i < kRows; ++i) {
      const std::string row = row_name(i);
      const bool asked = row >= ask.start && (ask.end.empty() || row < ask.end);
      const bool here = row >= tablet.start && (tablet.end.empty() || row < tablet.end);
      if (!asked || !here || done[i]) continue;
      done[i] = true;
      values_.erase(row);
    }
  }
  void put(const std::string& row, const std::string& value) { values_[row] = value; }
  std::string rows() const {
    std::string text;
    for (const auto& [row, value] : values_) text += row + "=" + value + " ";
    return text;
  }

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<bool>> done_;
};

TestNodeOptions options_for(uint64_t seed) {
  TestNodeOptions options;
  options.seed = seed;
  options.shards = 1 + static_cast<uint32_t>(seed % 3);
  options.min_latency_us = 20;
  options.max_latency_us = 400;
  return options;
}

DropAsk random_drop(Random& random, uint64_t number) {
  DropAsk ask;
  const uint64_t first = random.below(kRows);
  ask.start = random.one_in(8) ? "" : row_name(first);
  ask.end = random.one_in(8) ? "" : row_name(first + 1 + random.below(kRows - first));
  ask.token = fmt::format("token{}", number);
  return ask;
}

void reshape_something(RangeTokenBed& bed, Random& random) {
  const auto tablets = bed.tablets();
  const size_t at = random.below(tablets.size());
  switch (random.below(3)) {
    case 0:
      (void)bed.node.split(tablets[at].id, row_name(random.below(kRows)));
      break;
    case 1:
      if (at > 0) (void)bed.node.merge(tablets[at - 1].id, tablets[at].id);
      break;
    default:
      (void)bed.node.move(tablets[at].id, static_cast<uint32_t>(random.below(bed.node.shards())));
  }
}

class RandomRangeTokens : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomRangeTokens, EachRowIsDeletedOnceThroughWhateverComes) {
  const uint64_t seed = GetParam();
  Random random(seed);
  RangeTokenBed bed(options_for(seed));
  ASSERT_TRUE(bed.node.create_table("t", {"f"}, {"r10", "r20"}));
  Model model;
  std::vector<DropAsk> asked;
  for (int round = 0; round < 250; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    for (uint64_t n = random.below(8); n > 0; --n) {
      const std::string row = row_name(random.below(kRows));
      const std::string value = fmt::format("{}", round);
      bed.put(row, value);
      model.put(row, value);
    }
    if (asked.empty() || random.one_in(3)) {
      asked.push_back(random_drop(random, asked.size()));
      asked.back().issued_us = bed.now_us();
    }
    const DropAsk& ask = asked[random.one_in(2) ? asked.size() - 1 : random.below(asked.size())];
    const auto tablets = bed.tablets();
    const bool whole = random.one_in(2);
    model.drop(ask, tablets[0]);
    const std::string answer = bed.drop_where(ask, [&](size_t i) {
      const bool reached = whole || random.one_in(2);
      if (reached) model.drop(ask, tablets[i]);
      return reached;
    });
    ASSERT_EQ(answer, "OK");
    switch (random.below(10)) {
      case 0:
        ASSERT_TRUE(bed.node.flush("t"));
        break;
      case 1:
        ASSERT_TRUE(bed.node.compact("t"));
        break;
      case 2:
        bed.cold();
        break;
      case 3:
        if (random.one_in(2)) {
          bed.node.crash(CrashPolicy::random_subset);
        } else {
          bed.node.kill();
        }
        ASSERT_TRUE(bed.node.reopen(1 + static_cast<uint32_t>(random.below(3))));
        break;
      case 4:
      case 5:
      case 6:
        reshape_something(bed, random);
        break;
      default:
        break;
    }
    ASSERT_EQ(bed.rows(), model.rows());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRangeTokens, testing::ValuesIn(test_seeds(8)));

// An image of the disk at every step of a drop: a repetition deletes exactly those rows that the
// image has not deleted yet.
TEST(RangeTokenCrash, AnImageAtAnyMomentHoldsTokensExactlyWhereRowsAreDeleted) {
  struct Image {
    std::unique_ptr<MemDisk> disk;
    DropAsk ask;
    int64_t wall_us;
  };
  for (const uint64_t seed : test_seeds(3)) {
    Random random(seed);
    std::vector<Image> images;
    std::optional<DropAsk> ask;
    RangeTokenBed* bed = nullptr;
    TestNodeOptions options = options_for(seed);
    options.on_round = [&](TestNode& node) {
      if (!ask || bed == nullptr || !random.one_in(12)) return;
      images.push_back(
          {node.crash_image(static_cast<CrashPolicy>(random.below(4))), *ask, bed->now_us()});
    };
    RangeTokenBed made(options);
    bed = &made;
    ASSERT_TRUE(made.node.create_table("t", {"f"}, {"r10", "r20", "r30"}));
    for (uint64_t number = 0; number < 6; ++number) {
      for (uint64_t i = 0; i < kRows; ++i) made.put(row_name(i), "old");
      ask = random_drop(random, number);
      ask->issued_us = made.now_us();
      EXPECT_EQ(made.drop(*ask), "OK");
      if (number % 2 == 0) ASSERT_TRUE(made.node.flush("t"));
      if (number % 3 == 0) reshape_something(made, random);
      ask.reset();
    }
    bed = nullptr;
    EXPECT_GT(images.size(), 10u);
    for (size_t i = 0; i < images.size(); ++i) {
      SCOPED_TRACE(fmt::format("seed {} image {}", seed, i));
      TestNodeOptions again = options_for(seed + i);
      again.start_wall_us = images[i].wall_us;
      RangeTokenBed found(again, std::move(images[i].disk));
      ASSERT_TRUE(found.node.is_open()) << found.node.open_error()->to_string();
      std::map<std::string, std::string> values;
      for (const OwnedCell& cell : found.node.cells("t")) values[cell.row] = cell.value;
      for (uint64_t r = 0; r < kRows; ++r) {
        const bool is_there = !values.try_emplace(row_name(r), "new").second;
        if (!is_there) found.put(row_name(r), "new");
      }
      EXPECT_EQ(found.drop(images[i].ask), "OK");
      std::string expected;
      for (const auto& [row, value] : values) {
        const DropAsk& a = images[i].ask;
        const bool asked = row >= a.start && (a.end.empty() || row < a.end);
        if (!asked || value == "new") expected += row + "=" + value + " ";
      }
      ASSERT_EQ(found.rows(), expected);
    }
  }
}

}  // namespace
}  // namespace cellar::support
