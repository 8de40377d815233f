#include "engine/iter/cell_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

uint64_t truth_before(const std::map<int64_t, uint64_t>& bytes_at, int64_t us) {
  uint64_t sum = 0;
  for (const auto& [at, bytes] : bytes_at) sum += at < us ? bytes : 0;
  return sum;
}

// Times of every kind: one, few, even, clustered, rising, with one outlier.
int64_t draw_time(Random& random, uint64_t kind, int64_t i) {
  switch (kind) {
    case 0:
      return 1000;
    case 1:
      return static_cast<int64_t>(random.below(5)) * 1'000'000;
    case 2:
      return static_cast<int64_t>(random.below(1'000'000'000));
    case 3:
      return static_cast<int64_t>(random.below(4)) * 1'000'000'000 +
             static_cast<int64_t>(random.below(1000));
    case 4:
      return i * 1000;
    default:
      return random.one_in(100) ? INT64_MAX - 1 : static_cast<int64_t>(random.below(1000));
  }
}

TEST(TimeHistogram, BoundsWhatLiesBeforeAnyTimeFromBothSides) {
  for (const uint64_t seed : test_seeds(60)) {
    Random random(seed);
    const uint64_t kind = seed % 6;
    const auto count = static_cast<int64_t>(1 + random.below(20'000));
    TimeHistogramBuilder builder;
    std::map<int64_t, uint64_t> bytes_at;
    uint64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t us = draw_time(random, kind, i);
      const uint64_t bytes = 1 + random.below(200);
      builder.add(us, bytes);
      bytes_at[us] += bytes;
      total += bytes;
    }
    const TimeHistogram histogram = builder.finish();
    EXPECT_EQ(histogram.bytes(), total) << "seed " << seed;
    EXPECT_LE(histogram.buckets().size(), TimeHistogram::kMostBuckets) << "seed " << seed;
    for (int i = 0; i < 50; ++i) {
      const int64_t us = draw_time(random, kind, static_cast<int64_t>(random.below(20'000)));
      const uint64_t truth = truth_before(bytes_at, us);
      ASSERT_GE(histogram.at_most_before(us), truth) << "seed " << seed << " at " << us;
      ASSERT_LE(histogram.at_least_before(us), truth) << "seed " << seed << " at " << us;
    }
    std::string encoded;
    encode_time_histogram(encoded, histogram);
    Reader in(encoded);
    TimeHistogram decoded;
    ASSERT_TRUE(decode_time_histogram(in, decoded) && in.at_end());
    EXPECT_EQ(decoded, histogram);
  }
}

TEST(TimeHistogram, TellsEvenTimesToAFifthAndTheirMiddleToATwentieth) {
  Random random(7);
  TimeHistogramBuilder builder;
  for (int i = 0; i < 100'000; ++i) builder.add(static_cast<int64_t>(random.below(1'000'000)), 10);
  const TimeHistogram histogram = builder.finish();
  for (int64_t us = 0; us <= 1'000'000; us += 50'000) {
    const double share = static_cast<double>(us) / 1e6;
    const double most = static_cast<double>(histogram.at_most_before(us)) / 1e6;
    const double least = static_cast<double>(histogram.at_least_before(us)) / 1e6;
    EXPECT_NEAR(most, share, 0.2);
    EXPECT_NEAR(least, share, 0.2);
    EXPECT_NEAR((most + least) / 2, share, 0.05);
  }
}

class Profile : public testing::Test {
 protected:
  void cell(Bytes family, Bytes qualifier, int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
    std::string key;
    append_cell(key, "row", family, qualifier, timestamp_us, CommitStamp{9});
    std::string value;
    append_cell_value(value, "v", expire_at_us);
    add(key, value);
  }
  void add(const std::string& key, const std::string& value) {
    ParsedKey parsed;
    ASSERT_TRUE(parse_key(key, parsed));
    builder_.add_cell(parsed, value, 100);
  }
  CellProfileBuilder builder_;
};

TEST_F(Profile, CountsFamiliesVersionsAndExpiriesApart) {
  for (int64_t t = 12; t > 0; --t) cell("f", "a", t);
  cell("f", "b", 5, 77);
  cell("g", "a", 9);
  std::string key;
  append_cell(key, "row", "g", "b", 9, CommitStamp{9});
  std::string tombstone;
  append_tombstone(tombstone, kNoExpiry);
  add(key, tombstone);
  const CellProfile profile = builder_.finish();
  ASSERT_TRUE(profile.known);
  ASSERT_EQ(profile.families.size(), 2u);
  EXPECT_EQ(profile.families[0].name, "f");
  EXPECT_EQ(profile.families[0].bytes(), 1300u);
  EXPECT_EQ(profile.families[0].times.bytes(), 1200u);
  EXPECT_EQ(profile.families[0].bytes_from_rank(0), 1300u);
  EXPECT_EQ(profile.families[0].bytes_from_rank(1), 1100u);
  EXPECT_EQ(profile.families[0].bytes_from_rank(3), 900u);
  EXPECT_EQ(profile.families[0].bytes_from_rank(9), 0u) << "never more than is known";
  EXPECT_EQ(profile.families[1].bytes(), 100u) << "a tombstone is none";
  EXPECT_EQ(profile.expiries.bytes(), 100u);
  std::string encoded;
  encode_cell_profile(encoded, profile);
  Reader in(encoded);
  CellProfile decoded;
  ASSERT_TRUE(decode_cell_profile(in, decoded));
  EXPECT_EQ(decoded, profile);
}

TEST_F(Profile, OfMoreFamiliesThanItHoldsNothingIsKnown) {
  for (size_t i = 0; i < CellProfile::kMaxFamilies; ++i) cell(fmt::format("f{:02}", i), "a", 1);
  EXPECT_TRUE(CellProfileBuilder(builder_).finish().known);
  cell("g", "a", 1);
  EXPECT_FALSE(builder_.finish().known);
}

TEST_F(Profile, SamplesRowsEvenly) {
  Random random(3);
  for (uint64_t i = 0; i < 10'000; ++i) builder_.add_row(i < 2500 ? i : random.next() | 1u << 20);
  const CellProfile profile = builder_.finish();
  ASSERT_EQ(profile.row_sample.size(), CellProfile::kRowSample);
  const auto first = std::count_if(profile.row_sample.begin(), profile.row_sample.end(),
                                   [](uint64_t hash) { return hash < 2500; });
  EXPECT_GT(first, 3);
  EXPECT_LT(first, 24);
}

// A golden example, as in FORMATS.md.
TEST_F(Profile, IsEncodedAsItsFormatSays) {
  cell("f", "q", 2000);
  cell("f", "q", 1000, 9000);
  builder_.add_row(0x0102030405060708);
  std::string encoded;
  encode_cell_profile(encoded, builder_.finish());
  std::string hex;
  for (const char c : encoded) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
  EXPECT_EQ(hex, "0101016601a01f006402646401d08c010064010807060504030201");
}

TEST_F(Profile, OfANewerFormatIsUnknownAndADamagedOneIsRefused) {
  CellProfile profile;
  const std::string newer = "\x02whatever";
  Reader in(newer);
  EXPECT_TRUE(decode_cell_profile(in, profile));
  EXPECT_FALSE(profile.known);
  cell("f", "q", 2000);
  std::string encoded;
  encode_cell_profile(encoded, builder_.finish());
  for (size_t size = 0; size < encoded.size(); ++size) {
    Reader cut(Bytes(encoded).substr(0, size));
    EXPECT_FALSE(decode_cell_profile(cut, profile)) << size;
  }
}

}  // namespace
}  // namespace cellar::engine
