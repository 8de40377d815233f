// Merging what tablets find through an index: order, limits, tablets that are replaced meanwhile.
#include "net/server/shard/index_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "io/base/random.h"
#include "io/sim/sim_loop.h"
#include "tests/support/seeds.h"

namespace cellar::server {
namespace {

using engine::IndexBatch;
using engine::IndexBatchLimits;
using engine::IndexHit;
using engine::TableEntry;
using engine::TabletDescriptor;

// What a whole table would find: positions, and the rows of their hits.
using Hits = std::vector<std::pair<std::string, std::string>>;

bool holds(const RowSet& rows, Bytes row) {
  return std::ranges::any_of(rows.ranges(),
                             [row](const KeyRange& range) { return range.contains(row); });
}

// Finds some of the hits; often fewer at a time than it may, sometimes none.
class FakeCursor final : public engine::IndexScan {
 public:
  FakeCursor(const Hits& all, const RowSet& rows, const std::string& after, bool reversed,
             Random& random)
      : reversed_(reversed), random_(random) {
    for (const auto& hit : all) {
      const bool behind = after.empty() || (reversed ? hit.first < after : hit.first > after);
      if (behind && holds(rows, hit.second)) hits_.push_back(hit);
    }
    std::ranges::sort(hits_);
    if (reversed) std::ranges::reverse(hits_);
  }

  Async<Result<void>> next(IndexBatch& batch, IndexBatchLimits limits) override {
    for (uint64_t n = random_.below(limits.hits + 1); n > 0 && at_ < hits_.size(); --n) {
      const auto& [position, row] = hits_[at_++];
      batch.hits.push_back({position, row, {}});
      batch.passed = position;
    }
    if (at_ == hits_.size()) {
      batch.done = random_.below(2) == 0;
    } else if (random_.below(2) == 0) {
      // A place between the last hit and the next one.
      const std::string& position = hits_[at_].first;
      batch.passed = reversed_ ? position + "~" : position.substr(0, position.size() - 1) + "\x01";
    } else if (batch.hits.empty()) {
      batch.passed.clear();
    }
    co_return Result<void>();
  }

 private:
  const bool reversed_;
  Random& random_;
  Hits hits_;
  size_t at_ = 0;
};

TableEntry split_table(const std::vector<std::string>& splits) {
  TableEntry table;
  std::string start;
  for (size_t i = 0; i <= splits.size(); ++i) {
    const std::string end = i < splits.size() ? splits[i] : "";
    table.tablets.push_back({TabletId{i + 1}, TableId{1}, Epoch{1}, ShardId{0}, start, end});
    start = end;
  }
  return table;
}

struct Source final : IndexSource {
  std::unique_ptr<FakeCursor> cursor;
};

// A read as IndexRead carries it out, over fake cursors.
class Read {
 public:
  Read(const Hits& all, bool reversed, Random& random)
      : all_(all), reversed_(reversed), random_(random), merge_(reversed) {}

  void enter(const TableEntry& table, const RowSet& rows, const std::string& after) {
    for (IndexPart& part : parts_of(table, rows)) {
      Source& added = *sources_.emplace_back(std::make_unique<Source>());
      added.rows = std::move(part.rows);
      added.after = after;
      merge_.add(added);
    }
  }
  // Positions in the order in which they come, at most `limit`. With `changes` tablets are often
  // replaced by others, and batches and cursors given up.
  std::vector<std::string> run(size_t limit, bool changes) {
    std::vector<std::string> found;
    while (!merge_.done() && found.size() < limit) {
      if (changes && random_.one_in(16)) {
        merge_.drop_batches(found.empty() ? "" : found.back());
        for (const auto& source : sources_) source->cursor.reset();
      }
      if (merge_.next() != nullptr) {
        found.push_back(merge_.take().position);
        continue;
      }
      for (IndexSource* one : merge_.wanted(1 + random_.below(4))) {
        fetch(static_cast<Source&>(*one), changes);
      }
    }
    return found;
  }
  size_t fetches() const { return fetches_; }

 private:
  void fetch(Source& source, bool changes) {
    ++fetches_;
    if (changes && random_.one_in(4)) {
      merge_.remove(source);
      std::vector<std::string> splits;
      for (char c = 'b'; c <= 'z'; ++c) {
        if (random_.one_in(8)) splits.emplace_back(1, c);
      }
      const std::string after = source.after;
      return enter(split_table(splits), RowSet(source.rows), after);
    }
    if (!source.cursor) {
      source.cursor =
          std::make_unique<FakeCursor>(all_, source.rows, source.after, reversed_, random_);
    }
    source.begin_batch();
    CHECK(world_.block_on(loop_, source.cursor->next(source.batch, {.hits = 5})));
    merge_.filled(source);
  }

  const Hits& all_;
  const bool reversed_;
  Random& random_;
  SimWorld world_{1};
  SimLoop& loop_{world_.add_loop()};
  std::vector<std::unique_ptr<Source>> sources_;
  IndexMerge merge_;
  size_t fetches_ = 0;
};

Hits random_hits(Random& random, uint64_t count) {
  Hits hits;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string row(1, static_cast<char>('a' + random.below(26)));
    hits.emplace_back(fmt::format("{:02}{}{}", random.below(40), row, i), row);
  }
  return hits;
}

std::vector<std::string> wanted_of(Hits hits, const RowSet& rows, bool reversed) {
  std::vector<std::string> wanted;
  for (const auto& [position, row] : hits) {
    if (holds(rows, row)) wanted.push_back(position);
  }
  std::ranges::sort(wanted);
  if (reversed) std::ranges::reverse(wanted);
  return wanted;
}

TEST(IndexMerge, GivesTheHitsOfAllTabletsInTheOrderOfTheIndex) {
  Random random(test_seeds(1).front());
  for (int round = 0; round < 200; ++round) {
    const Hits hits = random_hits(random, random.below(120));
    const bool reversed = random.one_in(2);
    Read read(hits, reversed, random);
    read.enter(split_table({"d", "k", "p"}), RowSet::everything(), "");
    const size_t limit = random.one_in(2) ? SIZE_MAX : random.below(60);
    std::vector<std::string> wanted = wanted_of(hits, RowSet::everything(), reversed);
    wanted.resize(std::min(limit, wanted.size()));
    ASSERT_EQ(read.run(limit, false), wanted) << "round " << round;
  }
}

TEST(IndexMerge, TabletsAreReplacedWithoutAGapOrARepetition) {
  Random random(test_seeds(1).front());
  for (int round = 0; round < 200; ++round) {
    const Hits hits = random_hits(random, random.below(120));
    const bool reversed = random.one_in(2);
    RowSet rows;
    rows.add({"c", "m"});
    rows.add({"n", ""});
    rows.normalize();
    Read read(hits, reversed, random);
    read.enter(split_table({"d", "k", "p"}), rows, "");
    ASSERT_EQ(read.run(SIZE_MAX, true), wanted_of(hits, rows, reversed)) << "round " << round;
  }
}

IndexHit hit_at(const std::string& position) { return {position, position, {}}; }

TEST(IndexMerge, NothingIsGivenBeforeEveryTabletHasAnswered) {
  IndexSource a;
  IndexSource b;
  IndexMerge merge(false);
  merge.add(a);
  merge.add(b);
  EXPECT_EQ(merge.wanted(9).size(), 2u);
  a.batch.hits = {hit_at("1")};
  merge.filled(a);
  EXPECT_EQ(merge.next(), nullptr);
  EXPECT_EQ(merge.wanted(9), std::vector<IndexSource*>{&b});
  b.batch.done = true;
  merge.filled(b);
  ASSERT_NE(merge.next(), nullptr);
  EXPECT_EQ(merge.take().position, "1");
  EXPECT_FALSE(merge.done());
  a.begin_batch();
  a.batch.done = true;
  merge.filled(a);
  EXPECT_TRUE(merge.done());
}

// So a limited read need not search a tablet that has passed what it returns.
TEST(IndexMerge, ATabletThatHasPassedAHitDoesNotHoldItUp) {
  IndexSource a;
  IndexSource b;
  IndexMerge merge(false);
  merge.add(a);
  merge.add(b);
  a.batch.hits = {hit_at("1"), hit_at("3"), hit_at("5")};
  merge.filled(a);
  b.batch.passed = "3";
  merge.filled(b);
  EXPECT_EQ(merge.take().position, "1");
  ASSERT_NE(merge.next(), nullptr);
  EXPECT_EQ(merge.take().position, "3");
  EXPECT_EQ(merge.next(), nullptr);
  EXPECT_EQ(merge.wanted(9), std::vector<IndexSource*>{&b});
  EXPECT_EQ(b.after, "3");
  b.begin_batch();
  b.batch.hits = {hit_at("4")};
  merge.filled(b);
  EXPECT_EQ(merge.take().position, "4");
  EXPECT_EQ(merge.next(), nullptr);
  EXPECT_EQ(b.after, "4");
}

TEST(IndexMerge, ReversedATabletPassesDownwards) {
  IndexSource a;
  IndexSource b;
  IndexMerge merge(true);
  merge.add(a);
  merge.add(b);
  a.batch.hits = {hit_at("5"), hit_at("1")};
  merge.filled(a);
  b.batch.passed = "3";
  merge.filled(b);
  EXPECT_EQ(merge.take().position, "5");
  EXPECT_EQ(merge.next(), nullptr);
  b.begin_batch();
  b.batch.done = true;
  merge.filled(b);
  EXPECT_EQ(merge.take().position, "1");
}

TEST(IndexMerge, ASourceWhoseBatchIsDroppedGoesOnBehindWhatItHadPassed) {
  IndexSource a;
  IndexSource b;
  IndexSource c;
  IndexMerge merge(false);
  for (IndexSource* one : {&a, &b, &c}) merge.add(*one);
  a.batch.hits = {hit_at("2"), hit_at("7")};
  merge.filled(a);
  b.batch.passed = "6";
  merge.filled(b);
  c.batch.done = true;
  merge.filled(c);
  EXPECT_EQ(merge.take().position, "2");
  merge.drop_batches("2");
  EXPECT_EQ(a.after, "2");
  EXPECT_EQ(b.after, "6");
  EXPECT_TRUE(c.done());
  EXPECT_EQ(merge.next(), nullptr);
  EXPECT_EQ(merge.wanted(1).size(), 1u);
  EXPECT_EQ(merge.wanted(9), (std::vector<IndexSource*>{&b, &a}));
  a.begin_batch();
  a.batch.hits = {hit_at("5")};
  a.batch.done = true;
  merge.filled(a);
  EXPECT_EQ(merge.take().position, "5");
  EXPECT_TRUE(a.done());
  EXPECT_FALSE(merge.done());
}

TEST(IndexMerge, ThePartsAreTheRowsOfTheTabletsThatTheyTouch) {
  Random random(test_seeds(1).front());
  const auto key = [&random] { return std::string(1, static_cast<char>('a' + random.below(26))); };
  for (int round = 0; round < 400; ++round) {
    RowSet rows;
    for (uint64_t n = random.below(6); n > 0; --n) {
      const std::string start = random.one_in(5) ? "" : key();
      rows.add({start, random.one_in(5) ? "" : key()});
    }
    rows.normalize();
    std::vector<std::string> splits;
    for (char c = 'b'; c <= 'z'; ++c) {
      if (random.one_in(6)) splits.emplace_back(1, c);
    }
    const TableEntry table = split_table(splits);
    std::vector<IndexPart> parts = parts_of(table, rows);
    auto part = parts.begin();
    for (const TabletDescriptor& tablet : table.tablets) {
      const RowSet inside = rows.clip(tablet.start, tablet.end);
      if (inside.ranges().empty()) continue;
      ASSERT_NE(part, parts.end());
      EXPECT_EQ(part->tablet, &tablet);
      EXPECT_EQ(part->rows.ranges(), inside.ranges());
      ++part;
    }
    EXPECT_EQ(part, parts.end());
  }
}

}  // namespace
}  // namespace cellar::server
