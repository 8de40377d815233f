// The definition of an index: what is refused, and its bytes in a table schema.
#include "engine/model/index_schema.h"

#include <gtest/gtest.h>

#include "engine/model/key.h"
#include "engine/model/schema.h"

namespace cellar {
namespace {

using enum IndexPart;

constexpr int64_t kDayUs = 86'400'000'000;

TableSchema table() {
  TableSchema schema;
  schema.id = TableId{7};
  schema.name = "t";
  schema.families.resize(3);
  schema.families[0].name = "f";
  schema.families[0].rule = RetentionRule::max_age_us(2 * kDayUs);
  schema.families[1].name = "g";
  schema.families[2].name = "s";
  schema.families[2].timestamps = TimestampMeaning::sequence;
  return schema;
}

IndexSchema of_column(std::string family = "f") {
  IndexSchema index;
  index.id = 2;
  index.name = "i";
  index.family = std::move(family);
  index.qualifier = "q";
  index.parts = {value, time};
  return index;
}

TableSchema indexed(IndexSchema index) {
  TableSchema schema = table();
  schema.indexes = {std::move(index)};
  schema.next_index = 3;
  return schema;
}

// "OK" or the message of INVALID_ARGUMENT.
std::string refusal(const IndexSchema& index, bool creates = true) {
  const auto valid = validate_index(index, table(), creates);
  if (valid) return "OK";
  EXPECT_EQ(valid.error().code, Errc::invalid_argument) << valid.error().message;
  return valid.error().message;
}

template <class Set>
std::string refusal(Set set, bool creates = true) {
  IndexSchema index = of_column();
  set(index);
  return refusal(index, creates);
}

TEST(IndexName, HasOneToSixtyFourOfTheAllowedCharacters) {
  for (const char* good : {"i", "-", ".", "_a-b.C9"})
    EXPECT_TRUE(validate_index_name(good)) << good;
  for (const char* bad : {"", "a:b", "no spaces"}) EXPECT_FALSE(validate_index_name(bad)) << bad;
  EXPECT_TRUE(validate_index_name(std::string(64, 'x')));
  EXPECT_FALSE(validate_index_name(std::string(65, 'x')));
  EXPECT_EQ(refusal([](auto& i) { i.name = "a b"; }),
            "index name 'a b' of 3 bytes is not of the form [-_.a-zA-Z0-9]{1,64}");
}

TEST(Index, HasTheKeyPartsOfItsKindAndNoOthers) {
  const auto good = [](bool column, std::vector<IndexPart> parts) {
    IndexSchema index = of_column();
    if (!column) index.qualifier.reset();
    index.parts = std::move(parts);
    return validate_index(index, table(), true).has_value();
  };
  for (const bool column : {false, true}) {
    EXPECT_EQ(good(column, {value}), column);
    EXPECT_EQ(good(column, {value, time}), column);
    EXPECT_EQ(good(column, {qualifier, time}), !column);
    EXPECT_TRUE(good(column, {time}));
    for (const auto& parts : std::vector<std::vector<IndexPart>>{{},
                                                                 {qualifier},
                                                                 {time, value},
                                                                 {value, value},
                                                                 {value, qualifier},
                                                                 {time, time},
                                                                 {value, time, qualifier},
                                                                 {static_cast<IndexPart>(0)},
                                                                 {static_cast<IndexPart>(4)}})
      EXPECT_FALSE(good(column, parts));
  }
  EXPECT_EQ(refusal([](auto& i) { i.parts = {time, value}; }),
            "index 'i': the key parts of an index on a column are value; value, time; or time, "
            "not: time, value");
  EXPECT_EQ(refusal([](auto& i) {
              i.qualifier.reset();
              i.parts = {};
            }),
            "index 'i': the key parts of an index on a family are time; or qualifier, time, not: "
            "none");
}

TEST(Index, ATypeBelongsToAValuePart) {
  EXPECT_EQ(refusal([](auto& i) { i.type = IndexType::int64; }), "OK");
  EXPECT_EQ(refusal([](auto& i) {
              i.type = IndexType::int64;
              i.parts = {time};
            }),
            "index 'i': a type belongs to a value part, and its parts are: time");
}

TEST(Index, UnknownNumbersAreRefused) {
  EXPECT_NE(refusal([](auto& i) { i.type = static_cast<IndexType>(2); }), "OK");
  EXPECT_NE(refusal([](auto& i) { i.match = static_cast<IndexMatch>(2); }), "OK");
  EXPECT_NE(refusal([](auto& i) { i.tighter_base = static_cast<TighterBase>(2); }), "OK");
}

TEST(Index, CoversOtherColumnsEachOnce) {
  EXPECT_EQ(refusal([](auto& i) { i.covered = {{"f", "a"}, {"g", "q"}}; }), "OK");
  EXPECT_EQ(refusal([](auto& i) { i.covered = {{"f", "q"}}; }),
            "index 'i' covers 'f:q', its own column");
  EXPECT_EQ(refusal([](auto& i) { i.covered = {{"g", "a"}, {"g", "a"}}; }),
            "index 'i' covers 'g:a' twice");
  EXPECT_NE(refusal([](auto& i) { i.covered = {{"g", "b"}, {"g", "a"}}; }), "OK");
  EXPECT_EQ(refusal([](auto& i) {
              i.qualifier.reset();
              i.parts = {time};
              i.covered = {{"f", "q"}};
            }),
            "OK")
      << "an index on a family may cover columns of it";
  const auto many = [](size_t count) {
    return [count](auto& i) {
      for (size_t n = 0; n < count; ++n) i.covered.push_back({"g", fmt::format("{:02}", n)});
    };
  };
  EXPECT_EQ(refusal(many(kMaxCoveredColumns)), "OK");
  EXPECT_EQ(refusal(many(kMaxCoveredColumns + 1)),
            "index 'i' covers 16 columns; at most 15 are allowed");
}

TEST(Index, QualifiersHaveTheirBound) {
  const std::string longest(kMaxQualifierBytes, 'q');
  EXPECT_EQ(refusal([&](auto& i) { i.qualifier = longest; }), "OK");
  EXPECT_NE(refusal([&](auto& i) { i.qualifier = longest + "q"; }), "OK");
  EXPECT_NE(refusal([&](auto& i) { i.covered = {{"g", longest + "q"}}; }), "OK");
}

TEST(Index, ItsFamilyMustExistAndOfCoveredColumnsWhenItIsCreated) {
  const auto missing = validate_index(of_column("x"), table(), false);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_EQ(missing.error().message, "index 'i': table 't' has no family 'x'");
  IndexSchema index = of_column();
  index.covered = {{"x", "a"}};
  EXPECT_TRUE(validate_index(index, table(), false)) << "the family was dropped later";
  const auto refused = validate_index(index, table(), true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_found);
  EXPECT_EQ(refused.error().message, "index 'i' covers 'x:a', but table 't' has no family 'x'");
}

TEST(Index, AnOwnAgeLiesBetweenAMillisecondAndTheAgeOfTheRule) {
  const auto age = [](int64_t us) { return [us](auto& i) { i.max_age_us = us; }; };
  EXPECT_EQ(refusal(age(999)), "index 'i': its own age of 999us is below 1ms");
  EXPECT_NE(refusal(age(0)), "OK");
  EXPECT_NE(refusal(age(-5)), "OK");
  EXPECT_EQ(refusal(age(1000)), "OK");
  EXPECT_EQ(refusal(age(2 * kDayUs)), "OK") << "equal";
  EXPECT_EQ(refusal(age(3 * kDayUs)),
            "index 'i': its own age of 3d is above 2d, the age at which the rule 'maxage=2d' of "
            "family 'f' kills");
  EXPECT_EQ(refusal(age(2 * kDayUs + 1), false), "OK") << "the rule was tightened later";
}

TEST(Index, TheAgeOfARuleIsThatAtWhichItKillsByAgeAlone) {
  TableSchema schema = table();
  const auto accepts = [&schema](int64_t us, RetentionRule rule) {
    schema.families[0].rule = std::move(rule);
    IndexSchema index = of_column();
    index.max_age_us = us;
    return validate_index(index, schema, true).has_value();
  };
  const auto one = RetentionRule::max_age_us(kDayUs);
  const auto two = RetentionRule::max_age_us(2 * kDayUs);
  const auto versions = RetentionRule::max_versions(3);
  EXPECT_TRUE(accepts(kDayUs, RetentionRule::union_of({two, one, versions})));
  EXPECT_FALSE(accepts(kDayUs + 1, RetentionRule::union_of({two, one, versions})));
  EXPECT_TRUE(accepts(2 * kDayUs, RetentionRule::intersection_of({one, two})));
  EXPECT_FALSE(accepts(2 * kDayUs + 1, RetentionRule::intersection_of({one, two})));
  EXPECT_TRUE(accepts(100 * kDayUs, RetentionRule::intersection_of({one, versions})));
  EXPECT_TRUE(accepts(100 * kDayUs, versions));
  EXPECT_TRUE(accepts(INT64_MAX, {}));
}

TEST(Index, NumbersHaveNoAge) {
  IndexSchema index = of_column("s");
  EXPECT_EQ(refusal(index), "OK");
  index.max_age_us = kDayUs;
  EXPECT_EQ(refusal(index),
            "index 'i': timestamps = sequence of family 's' forbids an own age, here 1d");
}

TEST(Index, IsFoundByName) {
  TableSchema schema = table();
  for (const char* name : {"a", "b", "c"}) {
    schema.indexes.push_back(of_column());
    schema.indexes.back().name = name;
  }
  ASSERT_NE(schema.find_index("b"), nullptr);
  EXPECT_EQ(schema.find_index("b")->name, "b");
  EXPECT_EQ(schema.find_index("bb"), nullptr);
  EXPECT_EQ(schema.find_index(""), nullptr);
}

// ---- in a schema

IndexSchema worked_example() {
  IndexSchema index = of_column();
  index.type = IndexType::int64;
  index.covered = {{"f", "a"}};
  index.max_age_us = kDayUs;
  index.tighter_base = TighterBase::refuse;
  return index;
}

TEST(IndexedSchema, ATableThatHasNeverHadAnIndexKeepsItsBytes) {
  EXPECT_EQ(encode_schema(table())[0], 6);
  TableSchema schema = table();
  schema.next_index = 2;
  const std::string bytes = encode_schema(schema);
  EXPECT_EQ(bytes[0], 7) << "its ids are not used again";
  const auto back = decode_schema(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->next_index, 2u);
  EXPECT_TRUE(back->indexes.empty());
}

TEST(IndexedSchema, BytesAreTheOnesOfTheWorkedExample) {
  TableSchema schema = indexed(worked_example());
  const unsigned char want[] = {0x03, 0x01, 0x02, 0x01, 0x69, 0x01, 0x66, 0x03, 0x01,
                                0x71, 0x02, 0x01, 0x02, 0x01, 0x00, 0x01, 0x01, 0x66,
                                0x01, 0x61, 0x80, 0xc0, 0xdd, 0xee, 0xc1, 0x02, 0x01};
  const std::string bytes = encode_schema(schema);
  std::string plain = encode_schema(table());
  plain[0] = 7;
  EXPECT_EQ(bytes, plain + std::string(reinterpret_cast<const char*>(want), sizeof want));
}

TEST(IndexedSchema, ComesBackFromItsBytes) {
  TableSchema schema = indexed(worked_example());
  schema.indexes.push_back(of_column("g"));
  schema.indexes[1].id = 1;
  schema.indexes[1].name = "j";
  schema.indexes[1].qualifier.reset();
  schema.indexes[1].parts = {qualifier, time};
  schema.indexes[1].match = IndexMatch::any;
  const std::string bytes = encode_schema(schema);
  const auto back = decode_schema(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->indexes, schema.indexes);
  EXPECT_EQ(back->next_index, 3u);
  EXPECT_EQ(encode_schema(*back), bytes);
}

TEST(IndexedSchema, AnOwnAgeThatTheRuleHasOvertakenIsKept) {
  IndexSchema index = worked_example();
  index.max_age_us = 9 * kDayUs;
  index.covered = {{"gone", "a"}};
  const auto back = decode_schema(encode_schema(indexed(index)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->indexes[0], index);
}

TEST(IndexedSchema, CutOrChangedBytesAreNeverTakenForAnotherSchema) {
  const std::string bytes = encode_schema(indexed(worked_example()));
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto back = decode_schema(Bytes(bytes).substr(0, n));
    ASSERT_FALSE(back) << n;
    EXPECT_EQ(back.error().code, Errc::data_loss);
  }
  EXPECT_EQ(decode_schema(bytes + "x").error().code, Errc::data_loss);
  for (size_t i = 1; i < bytes.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(byte);
      const auto back = decode_schema(changed);
      if (back) EXPECT_TRUE(validate_schema(*back)) << i << ' ' << byte;
    }
  }
}

TEST(IndexedSchema, IndexesThatContradictTheSchemaAreDataLoss) {
  const auto fault = [](auto set) {
    TableSchema schema = indexed(of_column());
    set(schema);
    const auto back = decode_schema(encode_schema(schema));
    if (back) return std::string("OK");
    EXPECT_EQ(back.error().code, Errc::data_loss);
    return back.error().message;
  };
  EXPECT_EQ(fault([](auto&) {}), "OK");
  EXPECT_NE(fault([](auto& s) { s.indexes[0].id = 3; }), "OK") << "not given yet";
  EXPECT_NE(fault([](auto& s) { s.indexes[0].id = 0; }), "OK");
  EXPECT_NE(fault([](auto& s) { s.next_index = 0; }), "OK");
  EXPECT_NE(fault([](auto& s) { s.indexes[0].family = "x"; }), "OK");
  EXPECT_NE(fault([](auto& s) { s.indexes[0].parts.clear(); }), "OK");
  EXPECT_NE(fault([](auto& s) { s.indexes.push_back(s.indexes[0]); }), "OK") << "named twice";
  EXPECT_NE(fault([](auto& s) {
              s.indexes.push_back(s.indexes[0]);
              s.indexes[1].name = "j";
            }),
            "OK")
      << "one id for two";
  EXPECT_NE(fault([](auto& s) {
              s.indexes.push_back(s.indexes[0]);
              s.indexes[1].id = 1;
              s.indexes[1].name = "a";
            }),
            "OK")
      << "out of order";
  const auto many = [](size_t count) {
    return [count](auto& s) {
      s.indexes.clear();
      s.next_index = count + 1;
      for (size_t i = 0; i < count; ++i) {
        s.indexes.push_back(of_column());
        s.indexes[i].id = i + 1;
        s.indexes[i].name = fmt::format("i{}", i);
      }
    };
  };
  EXPECT_EQ(fault(many(kMaxIndexes)), "OK");
  EXPECT_NE(fault(many(kMaxIndexes + 1)), "OK");
}

}  // namespace
}  // namespace cellar
