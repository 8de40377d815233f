// The conditions of a read through an index: what is refused.
#include <gtest/gtest.h>

#include "engine/model/index_read_spec.h"
#include "io/base/coding.h"

namespace cellar {
namespace {

using enum IndexPart;

IndexSchema index_by(std::vector<IndexPart> parts, IndexType type = IndexType::bytes) {
  IndexSchema index;
  index.name = "i";
  index.family = "f";
  if (parts.front() != qualifier) index.qualifier = "q";
  index.parts = std::move(parts);
  index.type = type;
  return index;
}

std::string refusal(const IndexReadSpec& spec, const IndexSchema& index,
                    Granularity granularity = Granularity::millis) {
  const auto valid = validate_index_read(spec, index, granularity);
  if (valid) return "OK";
  EXPECT_EQ(valid.error().code, Errc::invalid_argument);
  return valid.error().message;
}

IndexReadSpec of_values(KeyPartRange range) {
  IndexReadSpec spec;
  spec.index = "i";
  spec.values = std::move(range);
  return spec;
}
IndexReadSpec of_qualifiers(KeyPartRange range) {
  IndexReadSpec spec;
  spec.index = "i";
  spec.qualifiers = std::move(range);
  return spec;
}
IndexReadSpec of_time(int64_t start_us, int64_t end_us) {
  IndexReadSpec spec;
  spec.index = "i";
  spec.time = TimeRange{start_us, end_us};
  return spec;
}

std::string number(int64_t n) {
  std::string out;
  put_be64(out, static_cast<uint64_t>(n));
  return out;
}

TEST(IndexRead, WithoutConditionsIsOfTheWholeIndex) {
  for (const auto& parts : {std::vector{value}, {value, time}, {time}, {qualifier, time}})
    EXPECT_EQ(refusal({}, index_by(parts)), "OK");
}

TEST(IndexRead, AConditionIsOnAKeyPart) {
  EXPECT_EQ(refusal(of_values(KeyPartRange::exactly("x")), index_by({value, time})), "OK");
  EXPECT_EQ(refusal(of_values(KeyPartRange::exactly("x")), index_by({time})),
            "a condition on the value of index 'i', which has no such key part");
  EXPECT_EQ(refusal(of_qualifiers(KeyPartRange::exactly("x")), index_by({qualifier, time})), "OK");
  EXPECT_EQ(refusal(of_qualifiers(KeyPartRange::exactly("q")), index_by({value})),
            "a condition on the qualifier of index 'i', which has no such key part");
  EXPECT_EQ(refusal(of_time(0, 1000), index_by({value, time})), "OK");
  EXPECT_EQ(refusal(of_time(0, 1000), index_by({value})),
            "a condition on the time of index 'i', which has no such key part");
}

TEST(IndexRead, ARangeEndsNotBeforeItStarts) {
  EXPECT_EQ(refusal(of_values({"b", "a"}), index_by({value})),
            "index 'i': the range of values from 'b' to 'a' ends before it starts");
  EXPECT_EQ(refusal(of_values({"a", "a"}), index_by({value})), "OK") << "empty";
  EXPECT_EQ(refusal(of_values({"b", std::nullopt}), index_by({value})), "OK");
  EXPECT_EQ(refusal(of_values({std::nullopt, ""}), index_by({value})), "OK");
  EXPECT_EQ(refusal(of_qualifiers({"b", "a"}), index_by({qualifier, time})),
            "index 'i': the range of qualifiers from 'b' to 'a' ends before it starts");
}

TEST(IndexRead, NumbersAreComparedAsNumbers) {
  const IndexSchema index = index_by({value}, IndexType::int64);
  EXPECT_EQ(refusal(of_values({number(-3), number(5)}), index), "OK");
  EXPECT_NE(refusal(of_values({number(-3), number(5)}), index_by({value})), "OK") << "as bytes";
  EXPECT_EQ(refusal(of_values({number(5), number(-3)}), index),
            "index 'i': the range of values from 5 to -3 ends before it starts");
  EXPECT_EQ(refusal(of_values({number(INT64_MIN), number(INT64_MAX)}), index), "OK");
  EXPECT_EQ(refusal(of_values(KeyPartRange::exactly("five")), index),
            "index 'i': a value of 4 bytes; an int64 index has values of 8 bytes");
  EXPECT_NE(refusal(of_values({std::nullopt, ""}), index), "OK");
}

TEST(IndexRead, ATimeRangeIsNeitherEmptyNorNegativeNorMisaligned) {
  const IndexSchema index = index_by({time});
  EXPECT_EQ(refusal(of_time(0, kMaxTimestampUs), index), "OK");
  EXPECT_EQ(refusal(of_time(2000, 3000), index), "OK");
  EXPECT_EQ(refusal(of_time(2000, 2000), index), "index 'i': the time range [2000, 2000) is empty");
  EXPECT_NE(refusal(of_time(3000, 2000), index), "OK");
  EXPECT_EQ(refusal(of_time(-1000, 2000), index), "index 'i': a time range with a negative bound");
  EXPECT_NE(refusal(of_time(0, -1000), index), "OK");
  EXPECT_EQ(refusal(of_time(0, 1500), index),
            "index 'i': the time range's bound 1500 is not a multiple of 1ms, the granularity of "
            "the table");
  EXPECT_NE(refusal(of_time(1, 2000), index), "OK");
  EXPECT_EQ(refusal(of_time(1, 1500), index, Granularity::micros), "OK");
}

TEST(IndexRead, AFilterIsForWholeRows) {
  IndexReadSpec spec;
  spec.index = "i";
  spec.row.versions = 1;
  EXPECT_EQ(refusal(spec, index_by({value})), "index 'i': a filter is for whole rows only");
  spec.whole_rows = true;
  EXPECT_EQ(refusal(spec, index_by({value})), "OK");
}

TEST(IndexRead, APositionHasItsBound) {
  IndexReadSpec spec;
  spec.after = std::string(10'000, 'x');
  EXPECT_EQ(refusal(spec, index_by({value})), "OK") << "its form is for the index to check";
  spec.after = std::string(100'000, 'x');
  EXPECT_NE(refusal(spec, index_by({value})), "OK");
}

}  // namespace
}  // namespace cellar
