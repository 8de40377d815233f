#include "engine/memtable/memtable.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <set>

#include "tests/support/model_script.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

Step same(Step step) { return step; }

std::string cell_key(Bytes row, uint64_t stamp) {
  std::string key;
  append_cell(key, row, "f", "q", 1000, CommitStamp{stamp});
  return key;
}

TEST(Memtable, WalksAsAMap) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Memtable memtable;
    EntryMap model;
    const uint64_t n = random.below(2000);
    for (uint64_t i = 0; i < n; ++i) {
      const std::string key = random_key(random, CommitStamp{random.below(500)});
      const std::string value = random_value(random, key);
      ASSERT_EQ(memtable.add(key, value), model.emplace(key, value).second);
    }
    ASSERT_EQ(memtable.entries(), model.size());
    Memtable::Iterator it = memtable.iterator();
    walk_against_model(it, model, random, 2000, same,
                       [&] { return random_key(random, CommitStamp{random.below(500)}); });
  }
}

// Enough entries for a tree of several levels, whose nodes are split at the end, at the beginning
// and in between. Versions of a cell have equal heads. Hints change nothing.
TEST(Memtable, OfManyEntriesIsInOrderHoweverTheyCome) {
  for (const std::string_view order : {"ascending", "descending", "at random", "few rows"}) {
    SCOPED_TRACE(order);
    constexpr uint64_t kEntries = 60'000;
    Random random(7);
    Memtable memtable;
    std::set<std::string> model;
    for (uint64_t i = 0; i < kEntries; ++i) {
      uint64_t row = random.below(kEntries);
      if (order == "ascending") row = i;
      if (order == "descending") row = kEntries - i;
      if (order == "few rows") row = random.below(40);
      const std::string key = cell_key(fmt::format("row{:09}", row), i + 1);
      EntryTree::Expected expected = memtable.tree().expect(Bytes(key).substr(0, i % 40));
      while (EntryTree::expect_next(expected)) {
      }
      ASSERT_TRUE(memtable.add(key, "v"));
      model.insert(key);
    }
    ASSERT_EQ(memtable.entries(), kEntries);
    Memtable::Iterator it = memtable.iterator();
    Step step = it.seek("");
    for (const std::string& key : model) {
      ASSERT_EQ(step, Step::ready);
      ASSERT_EQ(it.key(), key);
      step = it.next();
    }
    EXPECT_EQ(step, Step::end);
    for (int i = 0; i < 2'000; ++i) {
      const std::string row = fmt::format("row{:09}", random.below(kEntries + 2));
      const std::string from = cell_key(row, random.below(2 * kEntries));
      const auto next = model.lower_bound(from);
      ASSERT_EQ(it.seek(from) == Step::ready, next != model.end());
      if (next != model.end()) ASSERT_EQ(it.key(), *next);
      ASSERT_EQ(it.seek_before(from) == Step::ready, next != model.begin());
      if (next != model.begin()) ASSERT_EQ(it.key(), *std::prev(next));
    }
  }
}

// Rows share long prefixes that get shorter row by row. Before and after the key heads are rebuilt,
// searches and open iterators find what a map finds.
TEST(Memtable, KeysThatBeginAlikeForLongAndThenLessAreInOrder) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto some_key = [&](uint64_t round) {
      const size_t shared = 60 - std::min<size_t>(60, round / 64 + random.below(4));
      const std::string row = std::string(shared, 'k') + std::to_string(random.below(100'000));
      return cell_key(row, random.below(3));
    };
    Memtable memtable;
    EntryMap model;
    Memtable::Iterator it = memtable.iterator();
    std::string at;
    Step step = Step::end;
    for (uint64_t round = 0; round < 5000; ++round) {
      const std::string key = some_key(round);
      ASSERT_EQ(memtable.add(key, "v"), model.emplace(key, "v").second);
      const auto expected = step == Step::ready ? model.upper_bound(at) : model.begin();
      step = step == Step::ready ? it.next() : it.seek("");
      ASSERT_EQ(step == Step::ready, expected != model.end());
      if (step == Step::ready) at.assign(it.key());
      if (step == Step::ready) ASSERT_EQ(at, expected->first);
    }
    walk_against_model(it, model, random, 2000, same, [&] { return some_key(random.below(5000)); });
  }
}

TEST(Memtable, AnIteratorGoesOnAfterItsLastKeyWhileWritesGoOn) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Memtable memtable;
    EntryMap model;
    Memtable::Iterator it = memtable.iterator();
    std::string at;
    Step step = Step::end;
    for (uint64_t i = 0; i < 3000; ++i) {
      const std::string key = random_key(random, CommitStamp{i});
      const std::string value = random_value(random, key);
      memtable.add(key, value);
      model[key] = value;
      if (random.one_in(3)) continue;
      // A view does not change, whatever is added after it was taken.
      if (step == Step::ready) ASSERT_EQ(it.key(), at);
      const auto expected = step == Step::ready ? model.upper_bound(at) : model.begin();
      step = step == Step::ready ? it.next() : it.seek("");
      ASSERT_EQ(step == Step::ready, expected != model.end());
      if (step != Step::ready) continue;
      ASSERT_EQ(it.key(), expected->first);
      ASSERT_EQ(it.value(), expected->second);
      at = std::string(it.key());
    }
  }
}

TEST(Memtable, TheSameKeyAgainChangesNothing) {
  Memtable memtable;
  EXPECT_TRUE(memtable.add(cell_key("r", 5), Bytes("\0one", 4)));
  const size_t bytes = memtable.content_bytes();
  EXPECT_FALSE(memtable.add(cell_key("r", 5), Bytes("\0two", 4)));
  EXPECT_EQ(memtable.entries(), 1u);
  EXPECT_EQ(memtable.content_bytes(), bytes);
  Memtable::Iterator it = memtable.iterator();
  ASSERT_EQ(it.seek(""), Step::ready);
  EXPECT_EQ(it.value(), Bytes("\0one", 4));
}

TEST(Memtable, KnowsItsStampsTimesAndRangeDeletes) {
  Memtable memtable;
  EXPECT_TRUE(memtable.empty());
  EXPECT_EQ(memtable.min_stamp(), kMaxStamp);
  std::string value;
  append_cell_value(value, "v", 77);
  memtable.add(cell_key("r", 9), value);
  memtable.add(cell_key("r", 4), Bytes("\0", 1));
  EXPECT_EQ(memtable.min_stamp(), CommitStamp{4});
  EXPECT_EQ(memtable.max_stamp(), CommitStamp{9});
  EXPECT_EQ(memtable.time_bounds().latest_expiry_us, 77);
  EXPECT_TRUE(memtable.time_bounds().any_without_expiry);
  EXPECT_FALSE(memtable.time_bounds().has_deletes());

  memtable.add_range_delete({"a", "b"}, CommitStamp{12});
  memtable.add_range_delete({"a", "b"}, CommitStamp{12});
  ASSERT_EQ(memtable.range_deletes().size(), 1u);
  EXPECT_EQ(memtable.max_stamp(), CommitStamp{12});
  EXPECT_TRUE(memtable.time_bounds().has_deletes());
}

// Comparing each range delete with all earlier ones would take minutes.
TEST(Memtable, FiftyThousandRangeDeletesReplayedTwiceAreThereOnce) {
  constexpr uint64_t kRanges = 50'000;
  Memtable memtable;
  const std::clock_t began = std::clock();  // processor time, independent of other load
  for (int replay = 0; replay < 2; ++replay) {
    for (uint64_t i = 0; i < kRanges; ++i) {
      memtable.add_range_delete({fmt::format("{:06}a", i), fmt::format("{:06}b", i)},
                                CommitStamp{i + 1});
    }
  }
  EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
  EXPECT_EQ(memtable.range_deletes().size(), kRanges);
  // Several may have the same stamp: each tablet of a split one has its own part.
  memtable.add_range_delete({"x", "y"}, CommitStamp{1});
  EXPECT_EQ(memtable.range_deletes().size(), kRanges + 1);
}

TEST(Memtable, CountsTheMemoryItTakes) {
  Memtable memtable;
  EXPECT_EQ(memtable.bytes(), 0u);
  const std::string value(100'001, '\0');
  for (uint64_t i = 1; i <= 20; ++i) memtable.add(cell_key("r", i), value);
  EXPECT_GE(memtable.bytes(), 20 * value.size());
  EXPECT_LE(memtable.bytes(), 20 * value.size() + (1u << 20));
}

TEST(MemtableDeathTest, AFrozenOneTakesNoWrites) {
  Memtable memtable;
  memtable.freeze();
  EXPECT_DEATH(memtable.add(cell_key("r", 1), "x"), "frozen");
  EXPECT_DEATH(memtable.add_range_delete({"a", "b"}, CommitStamp{1}), "frozen");
}

// Two indexes of which the second leaves cells out, and some cells that are in neither.
class IndexedMemtable {
 public:
  IndexedMemtable() : indexes_(make_index_set({schema(1, IndexType::bytes), number()})) {}

  void add(Random& random) {
    static constexpr const char* kQualifiers[] = {"q", "n", "other"};
    std::string key;
    append_cell(key, fmt::format("r{}", random.below(50)), "f", kQualifiers[random.below(3)],
                static_cast<int64_t>(random.below(20)), CommitStamp{++stamp_});
    std::string value;
    if (random.one_in(10)) {
      append_tombstone(value, 5);
    } else {
      append_cell_value(value, std::string(random.one_in(3) ? 3 : 8, 'a' + random.below(26)));
    }
    ASSERT_TRUE(memtable.add(key, value));
    ParsedKey cell;
    ASSERT_TRUE(parse_key(key, cell));
    EntryMaker(indexes_).make(
        cell, value, [&](size_t i, Bytes entry, Bytes) { wanted_[i].emplace(entry); },
        [](size_t) {});
  }

  void expect_entries() {
    for (const uint64_t id : {1, 2}) {
      const std::set<std::string>& wanted = wanted_[id - 1];
      auto it = memtable.index_entries(id)->iterator();
      std::set<std::string> made;
      for (Step step = it.seek(""); step == Step::ready; step = it.next()) made.emplace(it.key());
      EXPECT_EQ(made, wanted);
      EXPECT_EQ(memtable.index_entry_count(id), wanted.size());
    }
    EXPECT_EQ(memtable.index_entries(3), nullptr);
    EXPECT_FALSE(memtable.has_index(3));
  }

 private:
  static IndexSchema schema(uint64_t id, IndexType type) {
    IndexSchema index;
    index.id = id;
    index.family = "f";
    index.qualifier = "q";
    index.type = type;
    index.parts = {IndexPart::value};
    return index;
  }
  static IndexSchema number() {
    IndexSchema index = schema(2, IndexType::int64);
    index.qualifier = "n";
    return index;
  }

  IndexSetRef indexes_;
  std::map<size_t, std::set<std::string>> wanted_;
  uint64_t stamp_ = 0;

 public:
  Memtable memtable{indexes_};
};

TEST(Memtable, MakesIndexEntriesWhenTheyAreAskedFor) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    IndexedMemtable indexed;
    Memtable& memtable = indexed.memtable;
    for (uint64_t looks = 0; looks < 5; ++looks) {
      size_t bytes = memtable.bytes();
      for (uint64_t n = random.below(600); n > 0; --n) {
        indexed.add(random);
        EXPECT_GE(memtable.bytes(), bytes);
        bytes = memtable.bytes();
      }
      size_t most = random.below(50);
      if (random.one_in(2)) memtable.make_index_entries(memtable.indexed_cells(), most);
    }
    memtable.freeze();
    for (bool all = false; !all;) {
      size_t most = 1 + random.below(200);
      all = memtable.make_index_entries(memtable.indexed_cells(), most);
    }
    indexed.expect_entries();
  }
}

TEST(Memtable, CountsWhatEntriesWillTakeAndBoundsTheCellsThatWait) {
  IndexSchema index;
  index.id = 1;
  index.family = "f";
  index.qualifier = "q";
  index.parts = {IndexPart::value};
  Memtable memtable(make_index_set({index}));
  const size_t cells = Memtable::kMostUnmade + 1000;
  std::string value;
  for (uint64_t i = 0; i < cells; ++i) {
    value.clear();
    append_cell_value(value, fmt::format("{:032}", i * 7919 % cells));
    ASSERT_TRUE(memtable.add(cell_key(fmt::format("{:08}", i), i + 1), value));
  }
  EXPECT_EQ(memtable.index_entries(1)->size(), 1000u);
  EXPECT_EQ(memtable.index_entry_count(1), cells);
  const auto before = static_cast<double>(memtable.bytes());
  size_t most = cells - 1001;
  EXPECT_FALSE(memtable.make_index_entries(cells, most));
  EXPECT_EQ(most, 0u);
  EXPECT_EQ(memtable.index_entries(1)->size(), cells - 1);
  most = 10;
  EXPECT_TRUE(memtable.make_index_entries(cells, most));
  EXPECT_EQ(most, 9u);
  EXPECT_EQ(memtable.index_entries(1)->size(), cells);
  EXPECT_NEAR(static_cast<double>(memtable.bytes()) / before, 1, 0.1);
}

}  // namespace
}  // namespace cellar::engine
