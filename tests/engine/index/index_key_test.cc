#include "engine/index/index_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "engine/index/index_set.h"
#include "engine/model/key.h"
#include "io/base/coding.h"
#include "io/base/random.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

struct Cell {
  std::string row;
  std::string qualifier;
  int64_t timestamp_us = 0;
  std::string value;
  auto operator<=>(const Cell&) const = default;
};

std::string be64(int64_t v) {
  std::string out;
  put_be64(out, static_cast<uint64_t>(v));
  return out;
}

std::string segment(Bytes bytes) {
  std::string out;
  append_row_prefix(out, bytes);
  return out;
}

std::string key_of(const IndexSchema& index, const Cell& cell) {
  std::string key;
  EXPECT_TRUE(append_index_key(key, index, segment(cell.row), segment(cell.qualifier),
                               cell.timestamp_us, cell.value));
  return key;
}

IndexSchema random_index(Random& random) {
  static const std::vector<std::vector<IndexPart>> kParts = {
      {IndexPart::value},
      {IndexPart::value, IndexPart::time},
      {IndexPart::time},
      {IndexPart::qualifier, IndexPart::time}};
  IndexSchema index;
  index.id = 1;
  index.name = "i";
  index.family = "f";
  index.parts = kParts[random.below(kParts.size())];
  if (index.has(IndexPart::value) || (!index.has(IndexPart::qualifier) && random.one_in(2)))
    index.qualifier = "q";
  if (index.has(IndexPart::value) && random.one_in(2)) index.type = IndexType::int64;
  return index;
}

Cell random_cell(Random& random, const IndexSchema& index) {
  Cell cell;
  cell.row = random_segment(random, 3, 1);
  cell.qualifier = index.qualifier ? *index.qualifier : random_segment(random, 2);
  cell.timestamp_us = static_cast<int64_t>(random.below(4)) * 1000;
  if (index.type == IndexType::int64) {
    cell.value = be64(static_cast<int64_t>(random.below(5)) - 2);
  } else {
    cell.value = random_segment(random, 3);
    // Values that share all that is ordered.
    if (random.one_in(5)) cell.value = std::string(kIndexedValueBytes, 'v') + cell.value;
  }
  return cell;
}

// The order of SEMANTICS 11, without the encoding.
auto rank(const IndexSchema& index, const Cell& cell) {
  std::vector<std::pair<int64_t, std::string>> parts;
  for (const IndexPart part : index.parts) {
    if (part == IndexPart::time) {
      parts.emplace_back(-cell.timestamp_us, "");
    } else if (part == IndexPart::qualifier) {
      parts.emplace_back(0, cell.qualifier);
    } else if (index.type == IndexType::int64) {
      parts.emplace_back(static_cast<int64_t>(load_be64(cell.value.data())), "");
    } else {
      parts.emplace_back(0, cell.value.substr(0, kIndexedValueBytes));
    }
  }
  parts.emplace_back(0, cell.row);
  parts.emplace_back(0, cell.qualifier);
  parts.emplace_back(-cell.timestamp_us, "");
  return parts;
}

TEST(IndexKey, OrdersAsTheContractSays) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const IndexSchema index = random_index(random);
    for (int i = 0; i < 100; ++i) {
      const Cell a = random_cell(random, index);
      const Cell b = random_cell(random, index);
      ASSERT_EQ(key_of(index, a) <=> key_of(index, b), rank(index, a) <=> rank(index, b));
    }
  }
}

TEST(IndexKey, IsParsedBack) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const IndexSchema index = random_index(random);
    const Cell cell = random_cell(random, index);
    const std::string key = key_of(index, cell);
    IndexKey parsed;
    ASSERT_TRUE(parse_index_key(key, index, parsed));
    EXPECT_EQ(parsed.row, segment(cell.row));
    EXPECT_EQ(parsed.qualifier, index.qualifier ? "" : segment(cell.qualifier));
    EXPECT_EQ(parsed.timestamp_us, cell.timestamp_us);
    // Neither a part of it nor more than it.
    EXPECT_FALSE(parse_index_key(key.substr(0, random.below(key.size())), index, parsed));
    EXPECT_FALSE(parse_index_key(key + "x", index, parsed));
  }
}

TEST(IndexKey, AnInt64IndexLeavesOutOtherSizes) {
  IndexSchema index;
  index.family = "f";
  index.qualifier = "q";
  index.parts = {IndexPart::value};
  index.type = IndexType::int64;
  std::string key;
  EXPECT_FALSE(append_index_key(key, index, segment("r"), segment("q"), 1, "1234567"));
  EXPECT_FALSE(append_index_key(key, index, segment("r"), segment("q"), 1, ""));
  EXPECT_TRUE(append_index_key(key, index, segment("r"), segment("q"), 1, be64(-1)));
}

KeyPartRange random_range(Random& random, const IndexSchema& index, bool of_value) {
  const auto bound = [&] {
    const Cell cell = random_cell(random, index);
    return of_value ? cell.value : cell.qualifier;
  };
  if (random.one_in(2)) return KeyPartRange::exactly(bound());
  KeyPartRange range;
  if (!random.one_in(3)) range.start = bound();
  if (!random.one_in(3)) range.end = bound();
  range.start_open = random.one_in(2);
  range.end_closed = random.one_in(2);
  return range;
}

TEST(IndexKey, BoundsLoseNothingThatMeetsTheConditions) {
  size_t inside = 0;
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const IndexSchema index = random_index(random);
    IndexReadSpec spec;
    const bool of_value = index.has(IndexPart::value);
    if (of_value && !random.one_in(3)) spec.values = random_range(random, index, true);
    if (index.has(IndexPart::qualifier)) spec.qualifiers = random_range(random, index, false);
    if (index.has(IndexPart::time) && random.one_in(2)) {
      const auto start = static_cast<int64_t>(random.below(4)) * 1000;
      spec.time = TimeRange{start, random.one_in(3) ? kMaxTimestampUs : start + 2000};
    }
    spec.reversed = random.one_in(2);
    if (random.one_in(2)) spec.after = key_of(index, random_cell(random, index));
    const IndexBounds bounds = bounds_of(spec, index);
    for (int i = 0; i < 50; ++i) {
      const Cell cell = random_cell(random, index);
      const std::string key = key_of(index, cell);
      bool meets = !spec.time || spec.time->contains(cell.timestamp_us);
      if (spec.values) meets &= contains(*spec.values, cell.value, index.type);
      if (spec.qualifiers) meets &= contains(*spec.qualifiers, cell.qualifier);
      if (!spec.after.empty()) meets &= spec.reversed ? key < spec.after : key > spec.after;
      if (!meets) continue;
      ++inside;
      EXPECT_GE(key, bounds.lower);
      if (!bounds.upper.empty()) EXPECT_LT(key, bounds.upper);
    }
  }
  EXPECT_GT(inside, 1000u);
}

TEST(IndexKey, BoundsOfOneValueAndATimeAreTight) {
  IndexSchema index;
  index.family = "f";
  index.qualifier = "q";
  index.parts = {IndexPart::value, IndexPart::time};
  IndexReadSpec spec;
  spec.values = KeyPartRange::exactly("v");
  spec.time = TimeRange{2000, 3000};
  const IndexBounds bounds = bounds_of(spec, index);
  const auto is_inside = [&](int64_t timestamp_us, const std::string& value) {
    const std::string key = key_of(index, {"r", "q", timestamp_us, value});
    return key >= bounds.lower && key < bounds.upper;
  };
  EXPECT_TRUE(is_inside(2000, "v"));
  EXPECT_TRUE(is_inside(2999, "v"));
  EXPECT_FALSE(is_inside(1999, "v"));
  EXPECT_FALSE(is_inside(3000, "v"));
  EXPECT_FALSE(is_inside(2500, "u"));
  EXPECT_FALSE(is_inside(2500, "vv"));
}

TEST(EntryMaker, MakesTheEntriesOfACellInItsIndexes) {
  IndexSchema by_value;
  by_value.id = 1;
  by_value.family = "f";
  by_value.qualifier = std::string("q\0", 2);
  by_value.parts = {IndexPart::value};
  IndexSchema by_time;
  by_time.id = 2;
  by_time.family = "f";
  by_time.parts = {IndexPart::time};
  IndexSchema of_another = by_value;
  of_another.id = 3;
  of_another.family = "g";
  EntryMaker maker(make_index_set({by_value, by_time, of_another}));

  const auto made = [&](Bytes row, Bytes family, Bytes qualifier, const std::string& value) {
    std::string key;
    append_cell(key, row, family, qualifier, 5000, CommitStamp{9});
    ParsedKey parsed;
    EXPECT_TRUE(parse_key(key, parsed));
    std::vector<std::tuple<size_t, std::string, std::string>> entries;
    maker.make(
        parsed, value,
        [&](size_t index, Bytes entry, Bytes expiry) {
          entries.emplace_back(index, entry, expiry);
        },
        [](size_t) {});
    return entries;
  };
  std::string value;
  append_cell_value(value, "v", 7000);
  const std::string row("r\0r", 3);
  const auto entries = made(row, "f", *by_value.qualifier, value);
  ASSERT_EQ(entries.size(), 2u);
  const Cell cell{row, *by_value.qualifier, 5000, "v"};
  EXPECT_EQ(entries[0], std::tuple(size_t{0}, key_of(by_value, cell), index_entry_value(7000)));
  EXPECT_EQ(entries[1], std::tuple(size_t{1}, key_of(by_time, cell), index_entry_value(7000)));
  EXPECT_EQ(index_entry_expiry(std::get<2>(entries[0])), 7000);

  EXPECT_EQ(made(row, "f", "q", value).size(), 1u) << "the index on the family alone";
  EXPECT_EQ(made(row, "h", "q", value).size(), 0u);
  std::string tombstone;
  append_tombstone(tombstone, 7000);
  EXPECT_EQ(made(row, "f", *by_value.qualifier, tombstone).size(), 0u);
}

}  // namespace
}  // namespace cellar::engine
