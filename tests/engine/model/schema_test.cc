// Names, options and the bytes of a table schema; row sets.
#include "engine/model/schema.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/read_spec.h"

namespace cellar {
namespace {

TableSchema sample() {
  TableSchema schema;
  schema.id = TableId{7};
  schema.name = "events-2.v1";
  schema.version = 3;
  schema.granularity = Granularity::micros;
  schema.options.durability = Durability::periodic;
  schema.options.compression = Compression::none;
  schema.options.block_bytes = 8192;
  schema.families = {{"a", CommitStamp{5}}, {"b.c", CommitStamp{9}}};
  return schema;
}

TEST(TableName, HasOneToFiftyOfTheAllowedCharacters) {
  for (const char* good : {"t", "_t", "0-.a", "Z9_"})
    EXPECT_TRUE(validate_table_name(good)) << good;
  for (const char* bad : {"", "-t", ".t", "a b", "a/b", "\xc3\xa4"})
    EXPECT_FALSE(validate_table_name(bad)) << bad;
  EXPECT_TRUE(validate_table_name(std::string(50, 'x')));
  EXPECT_FALSE(validate_table_name(std::string(51, 'x')));
}

TEST(FamilyName, HasOneToSixtyFourOfTheAllowedCharacters) {
  for (const char* good : {"f", "-", ".", "_a-b.C9"})
    EXPECT_TRUE(validate_family_name(good)) << good;
  for (const char* bad : {"", "a:b", "a b"}) EXPECT_FALSE(validate_family_name(bad)) << bad;
  EXPECT_FALSE(validate_family_name(Bytes("a\0b", 3)));
  EXPECT_TRUE(validate_family_name(std::string(64, 'x')));
  EXPECT_FALSE(validate_family_name(std::string(65, 'x')));
}

TEST(Schema, AThousandFamiliesAndNoMore) {
  TableSchema schema = sample();
  schema.families.clear();
  for (size_t i = 0; i < kMaxFamilies; ++i)
    schema.families.push_back({fmt::format("f{:04}", i), CommitStamp{1}});
  EXPECT_TRUE(validate_schema(schema));
  schema.families.push_back({"g", CommitStamp{1}});
  EXPECT_FALSE(validate_schema(schema));
}

TEST(Rule, HasAtMostSoManyNodes) {
  std::vector<RetentionRule> parts(kMaxRuleNodes - 1, RetentionRule::max_versions(2));
  EXPECT_TRUE(validate_rule(RetentionRule::union_of(parts)));
  parts.push_back(RetentionRule::max_versions(2));
  const auto refused = validate_rule(RetentionRule::union_of(parts));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

TEST(Schema, AFamilyNamedTwiceIsRefused) {
  TableSchema schema = sample();
  schema.families = {{"a", CommitStamp{}}, {"a", CommitStamp{}}};
  const auto result = validate_schema(schema);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "family 'a' is named twice");
}

TEST(Schema, OptionsOutsideTheirBoundsAreRefused) {
  TableSchema schema = sample();
  schema.options.block_bytes = kMinBlockBytes - 1;
  EXPECT_FALSE(validate_schema(schema));
  schema.options.block_bytes = kMaxBlockBytes;
  EXPECT_TRUE(validate_schema(schema));
  schema.options.block_bytes = kMaxBlockBytes + 1;
  EXPECT_FALSE(validate_schema(schema));
  schema = sample();
  schema.granularity = static_cast<Granularity>(2);
  EXPECT_FALSE(validate_schema(schema));
}

TEST(Schema, FamiliesAreFoundByName) {
  const TableSchema schema = sample();
  ASSERT_NE(schema.find_family("b.c"), nullptr);
  EXPECT_EQ(schema.find_family("b.c")->created, CommitStamp{9});
  EXPECT_EQ(schema.find_family("b"), nullptr);
  EXPECT_EQ(schema.find_family("z"), nullptr);
}

TEST(Schema, ComesBackFromItsBytes) {
  const TableSchema schema = sample();
  const auto back = decode_schema(encode_schema(schema));
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(encode_schema(*back), encode_schema(schema));
  EXPECT_EQ(back->name, schema.name);
  EXPECT_EQ(back->version, 3u);
  EXPECT_EQ(back->options.durability, Durability::periodic);
  EXPECT_EQ(back->families[1].created, CommitStamp{9});
}

TEST(Schema, BytesAreTheOnesOfTheWorkedExample) {
  TableSchema schema;
  schema.id = TableId{7};
  schema.name = "t";
  FamilySchema family;
  family.name = "f";
  family.created = CommitStamp{5};
  family.rule = RetentionRule::max_age_us(172'800'000'000);
  family.window.past_us = 3'600'000'000;
  family.history = {{RetentionRule::max_versions(3), CommitStamp{9}, 1000}};
  schema.families = {family};
  const unsigned char want[] = {
      0x06, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x01, 0x74, 0x00, 0x00, 0x01, 0x00, 0x10, 0x00, 0x00, 0x00, 0x80, 0xc8, 0xce,
      0xb4, 0x0d, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0xd0, 0x3f, 0x00, 0x00, 0x01, 0x01, 0x66, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x01, 0x02, 0x00, 0x80, 0x80, 0xbb, 0xdd, 0x83, 0x05, 0x00, 0x00, 0x01, 0x80, 0xc8,
      0xce, 0xb4, 0x0d, 0x80, 0xc0, 0xdd, 0xee, 0xc1, 0x02, 0x01, 0x01, 0x01, 0x00, 0x03, 0x09,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe8, 0x07};
  const auto back = decode_schema(encode_schema(schema));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->families[0], family);
  EXPECT_EQ(encode_schema(schema), std::string(reinterpret_cast<const char*>(want), sizeof want));
}

TEST(Schema, EveryChoiceOfCompactionComesBackAndAnUnknownOneIsRefused) {
  TableSchema schema = sample();
  for (const Compaction named :
       {Compaction::automatic, Compaction::tiered, Compaction::time_window}) {
    schema.options.compaction = named;
    const std::string bytes = encode_schema(schema);
    const auto back = decode_schema(bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->options, schema.options);
    EXPECT_EQ(encode_schema(*back), bytes);
  }
  schema.options.compaction = static_cast<Compaction>(3);
  EXPECT_FALSE(validate_schema(schema));
  EXPECT_EQ(decode_schema(encode_schema(schema)).error().code, Errc::data_loss);
}

TEST(Schema, EveryCompressionAtTheBottomComesBackAndAnUnknownOneIsRefused) {
  TableSchema schema = sample();
  for (const BottomCompression named :
       {BottomCompression::automatic, BottomCompression::same, BottomCompression::zstd}) {
    schema.options.bottom_compression = named;
    const std::string bytes = encode_schema(schema);
    const auto back = decode_schema(bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->options, schema.options);
    EXPECT_EQ(encode_schema(*back), bytes);
  }
  schema.options.bottom_compression = static_cast<BottomCompression>(3);
  EXPECT_FALSE(validate_schema(schema));
  EXPECT_EQ(decode_schema(encode_schema(schema)).error().code, Errc::data_loss);
  schema.options.bottom_compression = BottomCompression::automatic;
  schema.options.compression = Compression::zstd;  // valid for files, not for tables
  EXPECT_FALSE(validate_schema(schema));
}

TEST(Schema, AnyOtherFormatIsRefusedByItsNumber) {
  std::string bytes = encode_schema(sample());
  for (int format = 0; format < 256; ++format) {
    if (format == 6 || format == 7) continue;
    bytes[0] = static_cast<char>(format);
    const auto refused = decode_schema(bytes);
    ASSERT_FALSE(refused) << format;
    EXPECT_EQ(refused.error().code, Errc::failed_precondition) << format;
    EXPECT_EQ(
        refused.error().message,
        fmt::format("table schema has format {}; this program reads formats 6 and 7 only", format));
  }
}

// The bytes that programs of formats 1 and 2 wrote.
TEST(Schema, TheBytesOfOlderFormatsAreRefused) {
  const unsigned char first[] = {0x01, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
                                 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x74, 0x00,
                                 0x00, 0x01, 0x00, 0x10, 0x00, 0x00, 0x01, 0x01, 0x66, 0x05,
                                 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  const unsigned char second[] = {
      0x02, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x01, 0x74, 0x00, 0x00, 0x01, 0x00, 0x10, 0x00, 0x00, 0x01, 0x01, 0x66, 0x05,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x80, 0x80, 0xbb, 0xdd, 0x83,
      0x05, 0x00, 0x00, 0x01, 0x80, 0xc8, 0xce, 0xb4, 0x0d, 0x80, 0xc0, 0xdd, 0xee, 0xc1, 0x02};
  for (const Bytes bytes : {Bytes(reinterpret_cast<const char*>(first), sizeof first),
                            Bytes(reinterpret_cast<const char*>(second), sizeof second)}) {
    const auto refused = decode_schema(bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::failed_precondition) << refused.error().message;
  }
}

TEST(Schema, WhatTheProfileGaveIsRememberedInBitsOfItsOwn) {
  TableSchema schema = sample();
  schema.profile = Profile::tablestore;
  schema.families = {{"f", CommitStamp{5}}};
  FamilySchema& family = schema.families[0];
  family.window = {1000, 2000, WriteWindow::Unit::seconds};
  const std::string named = encode_schema(schema);
  family.from_profile = {.born_dead = true, .window = true};
  const std::string bytes = encode_schema(schema);
  ASSERT_EQ(bytes.size(), named.size());
  size_t differ = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == named[i]) continue;
    ++differ;
    EXPECT_EQ(bytes[i] & 7, named[i]) << "the bits of the window";
    EXPECT_EQ(bytes[i] & ~7, 8 | 16);
  }
  EXPECT_EQ(differ, 1u);
  const auto back = decode_schema(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->families, schema.families);
  EXPECT_EQ(encode_schema(*back), bytes);
  EXPECT_EQ(decode_schema(named)->families[0].from_profile, ProfileParts());
}

TEST(Schema, AWindowOnNumbersIsRefused) {
  TableSchema schema = sample();
  schema.families = {{"f", CommitStamp{5}}};
  FamilySchema& family = schema.families[0];
  family.timestamps = TimestampMeaning::sequence;
  EXPECT_TRUE(validate_schema(schema));
  family.window.unit = WriteWindow::Unit::seconds;
  EXPECT_TRUE(validate_schema(schema)) << "bounds nothing";
  family.window.future_us = 5;
  EXPECT_FALSE(validate_schema(schema));
  family.window.past_us = 7;
  EXPECT_EQ(decode_schema(encode_schema(schema)).error().code, Errc::data_loss);
}

TEST(Schema, OptionsAreHeldToTheirBounds) {
  const auto good = [](auto set) {
    TableOptions options;
    set(options);
    return validate_options(options).has_value();
  };
  for (const double share : {0.0, 1.0})
    EXPECT_TRUE(good([&](auto& o) { o.dead_slack = share; })) << share;
  for (const double share : {-0.001, 1.001, std::nan("")})
    EXPECT_FALSE(good([&](auto& o) { o.dead_slack = share; })) << share;
  for (const double share : {0.001, 1.0})
    EXPECT_TRUE(good([&](auto& o) { o.reclaim_share = share; })) << share;
  for (const double share : {0.0, 1.001, std::nan("")})
    EXPECT_FALSE(good([&](auto& o) { o.reclaim_share = share; })) << share;
  EXPECT_TRUE(good([](auto& o) { o.reclaim_within_us = kMinReclaimWithinUs; }));
  EXPECT_FALSE(good([](auto& o) { o.reclaim_within_us = kMinReclaimWithinUs - 1; }));
}

TEST(Schema, RulesThatTheTimestampsForbidAreRefused) {
  FamilySchema family;
  family.name = "f";
  family.timestamps = TimestampMeaning::expiry;
  EXPECT_FALSE(validate_family(family));
  family.rule = RetentionRule::max_age_us(1'000'000);
  EXPECT_TRUE(validate_family(family));
  family.born_dead = BornDead::accept;
  EXPECT_FALSE(validate_family(family));
  family.born_dead = BornDead::refuse;
  family.timestamps = TimestampMeaning::sequence;
  EXPECT_FALSE(validate_family(family));
  family.rule = RetentionRule::max_versions(3);
  EXPECT_TRUE(validate_family(family));
}

TEST(RetentionRule, FormIsChecked) {
  const auto age = RetentionRule::max_age_us(kMinRuleAgeUs);
  EXPECT_TRUE(validate_rule(age));
  EXPECT_FALSE(validate_rule(RetentionRule::max_age_us(kMinRuleAgeUs - 1)));
  EXPECT_FALSE(validate_rule(RetentionRule::max_versions(0)));
  EXPECT_FALSE(validate_rule(RetentionRule::union_of({})));
  RetentionRule deep = age;
  for (size_t i = 0; i < kMaxRuleDepth; ++i) deep = RetentionRule::union_of({deep});
  EXPECT_TRUE(validate_rule(deep));
  EXPECT_FALSE(validate_rule(RetentionRule::union_of({deep})));
  RetentionRule loose = age;
  loose.nodes.push_back(age.nodes.front());
  EXPECT_FALSE(validate_rule(loose));
}

TEST(RetentionRule, IsDescribedInWords) {
  const auto age = RetentionRule::max_age_us(172'800'000'000);
  const auto newest = RetentionRule::max_versions(3);
  EXPECT_EQ(describe_rule({}), "keep everything");
  EXPECT_EQ(describe_rule(RetentionRule::union_of({age, newest})), "maxage=2d or maxversions=3");
  EXPECT_EQ(describe_rule(RetentionRule::intersection_of(
                {newest, RetentionRule::union_of({age, RetentionRule::max_age_us(1'500'000)})})),
            "maxversions=3 and (maxage=2d or maxage=1500ms)");
}

TEST(Schema, TruncatedOrUnknownBytesAreDataLoss) {
  const std::string bytes = encode_schema(sample());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto back = decode_schema(Bytes(bytes).substr(0, n));
    ASSERT_FALSE(back) << n;
    EXPECT_EQ(back.error().code, Errc::data_loss);
  }
  std::string newer = bytes;
  newer[0] = 4;
  EXPECT_FALSE(decode_schema(newer));
}

std::string text(const RowSet& set) {
  std::string out;
  for (const KeyRange& range : set.ranges()) out += "[" + range.start + "," + range.end + ")";
  return out;
}

TEST(RowSet, NormalizeSortsAndJoinsWhatOverlapsOrTouches) {
  RowSet set;
  set.add({"m", "p"});
  set.add({"a", "c"});
  set.add({"b", "d"});
  set.add({"d", "e"});
  set.add({"x", "x"});
  set.add({"o", ""});
  set.normalize();
  EXPECT_EQ(text(set), "[a,e)[m,)");
}

TEST(RowSet, ClipKeepsWhatLiesInside) {
  RowSet set;
  set.add({"a", "c"});
  set.add({"e", ""});
  set.normalize();
  EXPECT_EQ(text(set.clip("b", "f")), "[b,c)[e,f)");
  EXPECT_EQ(text(set.clip("c", "e")), "");
  EXPECT_EQ(text(set.clip("", "")), "[a,c)[e,)");
  EXPECT_EQ(text(RowSet::everything().clip("b", "")), "[b,)");
}

}  // namespace
}  // namespace cellar
