#include "engine/iter/time_bounds.h"

#include <gtest/gtest.h>

#include "engine/iter/range_delete.h"
#include "engine/model/token.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

TEST(TimeBounds, HoldEveryEntryThatWasAddedAndSurviveTheirEncoding) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TimeBounds parts[2];
    std::vector<std::pair<std::string, std::string>> entries;
    const uint64_t n = random.below(12);
    for (uint64_t i = 0; i < n; ++i) {
      const std::string key = random_key(random, CommitStamp{i});
      const std::string value = random_value(random, key);
      ParsedKey parsed;
      ASSERT_TRUE(parse_key(key, parsed));
      parts[random.below(2)].add_entry(parsed, value);
      entries.emplace_back(key, value);
    }
    TimeBounds all = parts[0];
    all.merge(parts[1]);
    std::string encoded;
    encode_time_bounds(encoded, all);
    Reader reader(encoded);
    TimeBounds decoded;
    ASSERT_TRUE(decode_time_bounds(reader, decoded) && reader.at_end());
    ASSERT_EQ(decoded, all);

    bool cells = false, deletes = false;
    for (const auto& [key, value] : entries) {
      ParsedKey parsed;
      ASSERT_TRUE(parse_key(key, parsed));
      if (parsed.kind == EntryKind::cell) {
        cells = true;
        CellValue cell;
        ASSERT_TRUE(parse_cell_value(value, cell));
        ASSERT_LE(all.min_timestamp_us, parsed.timestamp_us);
        ASSERT_GE(all.max_timestamp_us, parsed.timestamp_us);
        if (cell.expire_at_us == kNoExpiry) {
          ASSERT_TRUE(all.any_without_expiry);
        } else {
          ASSERT_GE(all.latest_expiry_us, cell.expire_at_us);
        }
      } else {
        deletes = true;
        ASSERT_LE(all.delete_start_us, parsed.start_us);
        if (parsed.kind == EntryKind::column_delete) {
          ASSERT_GE(all.delete_end_us, parsed.end_us);
        } else {
          ASSERT_EQ(all.delete_end_us, INT64_MAX);
        }
      }
    }
    ASSERT_EQ(all.has_cells(), cells);
    ASSERT_EQ(all.has_deletes(), deletes);
  }
}

TEST(TimeBounds, AValueThatIsNoneMakesThemUnknownAndUnknownSpreads) {
  std::string key;
  append_cell(key, "r", "f", "q", 5, CommitStamp{1});
  ParsedKey parsed;
  ASSERT_TRUE(parse_key(key, parsed));
  TimeBounds bad;
  bad.add_entry(parsed, "\x7f");
  EXPECT_FALSE(bad.known);
  TimeBounds good;
  good.merge(bad);
  EXPECT_FALSE(good.known);
}

TEST(TimeBounds, ATokenBoundsNothingButHowLongItCounts) {
  std::string key;
  append_token(key, "r", token_id("me", "t"), CommitStamp{1});
  ParsedKey parsed;
  ASSERT_TRUE(parse_key(key, parsed));
  TimeBounds bounds;
  EXPECT_FALSE(bounds.may_hold_tokens(INT64_MIN + 1));
  for (const int64_t until_us : {500, 700, 600}) {
    std::string record;
    append_token_record(record, {.until_us = until_us, .content = {}, .cells = {}});
    bounds.add_entry(parsed, record);
  }
  EXPECT_FALSE(bounds.has_cells() || bounds.has_deletes());
  EXPECT_TRUE(bounds.may_hold_tokens(700));
  EXPECT_FALSE(bounds.may_hold_tokens(701));
  std::string encoded;
  encode_time_bounds(encoded, bounds);
  Reader reader(encoded);
  TimeBounds decoded;
  ASSERT_TRUE(decode_time_bounds(reader, decoded) && reader.at_end());
  EXPECT_EQ(decoded, bounds);
  TimeBounds all;
  all.merge(bounds);
  EXPECT_EQ(all, bounds);
  bounds.add_entry(parsed, "no record");
  EXPECT_TRUE(bounds.may_hold_tokens(INT64_MAX)) << "unknown";
}

TEST(TimeBounds, RandomBytesAreRefusedOrDecodedToSomethingOrdered) {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (uint64_t n = random.below(24); n > 0; --n) bytes += static_cast<char>(random.next() % 40);
    Reader reader(bytes);
    TimeBounds out;
    if (!decode_time_bounds(reader, out) || !out.known) continue;
    std::string again;
    encode_time_bounds(again, out);
    Reader second(again);
    TimeBounds same;
    ASSERT_TRUE(decode_time_bounds(second, same));
    ASSERT_EQ(same, out);
  }
}

TEST(RangeDeletes, TheLatestCoveringStampCountsAndTheEndIsKept) {
  const std::vector<RangeTombstone> ranges = {{"b", "d", CommitStamp{5}},
                                              {"c", "", CommitStamp{3}}};
  EXPECT_EQ(covering_stamp(ranges, "a"), CommitStamp{0});
  EXPECT_EQ(covering_stamp(ranges, "b"), CommitStamp{5});
  EXPECT_EQ(covering_stamp(ranges, "c"), CommitStamp{5});
  EXPECT_EQ(covering_stamp(ranges, "d"), CommitStamp{3});
  std::vector<RangeTombstone> decoded;
  const std::string encoded = encode_ranges(ranges);
  ASSERT_TRUE(decode_ranges(encoded, decoded));
  EXPECT_EQ(decoded, ranges);
  for (size_t n = 0; n < encoded.size(); ++n) {
    EXPECT_FALSE(decode_ranges(Bytes(encoded).substr(0, n), decoded));
  }
}

}  // namespace
}  // namespace cellar::engine
