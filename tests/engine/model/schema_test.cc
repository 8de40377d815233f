// Names, options and the bytes of a table schema; row sets.
#include "engine/model/schema.h"

#include <gtest/gtest.h>

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
  schema.families = {{"f", CommitStamp{5}}};
  const unsigned char want[] = {0x01, 7, 0, 0, 0,    0, 0, 0, 0, 1,   0, 0, 0, 0, 0, 0, 0, 1, 't',
                                0,    0, 1, 0, 0x10, 0, 0, 1, 1, 'f', 5, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(encode_schema(schema), std::string(reinterpret_cast<const char*>(want), sizeof want));
}

TEST(Schema, TruncatedOrUnknownBytesAreDataLoss) {
  const std::string bytes = encode_schema(sample());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto back = decode_schema(Bytes(bytes).substr(0, n));
    ASSERT_FALSE(back) << n;
    EXPECT_EQ(back.error().code, Errc::data_loss);
  }
  std::string newer = bytes;
  newer[0] = 2;
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
