// Decoding of reads through an index: what is given, and errors of form.
#include "net/wire/index_codec.h"

#include <gtest/gtest.h>

#include "net/wire/frame.h"
#include "tests/net/wire/aligned_body.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::wire {
namespace {

constexpr uint8_t kHasStart = static_cast<uint8_t>(fb::RangeFlag::HasStart);
constexpr uint8_t kOpen = static_cast<uint8_t>(fb::RangeFlag::StartOpen);
constexpr uint8_t kHasEnd = static_cast<uint8_t>(fb::RangeFlag::HasEnd);
constexpr uint8_t kClosed = static_cast<uint8_t>(fb::RangeFlag::EndClosed);

// Empty: it was decoded.
std::string decoded(const ReadIndexShape& shape, DecodedIndexRead& out) {
  std::vector<uint64_t> aligned;
  const std::string body = read_index_body("t", "i", shape);
  const auto* request = root_of<fb::ReadIndexRequest>(body, aligned);
  if (request == nullptr) return "no request";
  const Result<void> result = decode(*request, out);
  if (result) return "";
  EXPECT_EQ(result.error().code, Errc::invalid_argument);
  return result.error().message;
}

std::string refusal(const ReadIndexShape& shape) {
  DecodedIndexRead out;
  return decoded(shape, out);
}

TEST(ReadIndexCodec, WithoutConditionsTheWholeIndexIsRead) {
  DecodedIndexRead read;
  ASSERT_EQ(decoded({}, read), "");
  EXPECT_EQ(read.spec.index, "i");
  EXPECT_FALSE(read.spec.values || read.spec.qualifiers || read.spec.time);
  EXPECT_EQ(read.spec.rows.ranges(), RowSet::everything().ranges());
  EXPECT_FALSE(read.spec.whole_rows || read.spec.reversed || read.spec.explain);
  EXPECT_EQ(read.spec.after, "");
  EXPECT_EQ(read.limit, 0u);
  EXPECT_EQ(read.credits, kDefaultChunkCredits);
  EXPECT_TRUE(read.filter.empty());
}

TEST(ReadIndexCodec, EveryConditionIsTaken) {
  DecodedIndexRead read;
  ASSERT_EQ(decoded({.value = "",
                     .qualifiers = PartRangeShape{"a", "b", kHasStart | kOpen | kHasEnd | kClosed},
                     .time = fb::TimeRangeRec(1000, 2000, kHasStart | kHasEnd, 0, 0, 0),
                     .keys = {"r", "a"},
                     .whole_rows = true,
                     .filter = {filter_node(fb::FilterKind::PassAll)},
                     .limit = 7,
                     .reversed = true,
                     .credits = 1000,
                     .after = "here"},
                    read),
            "");
  EXPECT_EQ(read.spec.values, KeyPartRange::exactly(""));
  EXPECT_EQ(read.spec.qualifiers, (KeyPartRange{"a", "b", true, true}));
  EXPECT_EQ(read.spec.time->start_us, 1000);
  EXPECT_EQ(read.spec.time->end_us, 2000);
  ASSERT_EQ(read.spec.rows.ranges().size(), 2u);
  EXPECT_EQ(read.spec.rows.ranges()[0], KeyRange::single("a"));
  EXPECT_TRUE(read.spec.whole_rows && read.spec.reversed);
  EXPECT_EQ(read.filter.nodes.size(), 1u);
  EXPECT_EQ(read.limit, 7u);
  EXPECT_EQ(read.credits, kMaxChunkCredits);
  EXPECT_EQ(read.spec.after, "here");
}

TEST(ReadIndexCodec, AnAbsentBoundIsUnboundedAndItsOtherFlagIsNothing) {
  DecodedIndexRead read;
  ASSERT_EQ(decoded({.values = PartRangeShape{"", "x", kOpen | kHasEnd},
                     .time = fb::TimeRangeRec(5, 9, kHasEnd, 0, 0, 0)},
                    read),
            "");
  EXPECT_EQ(read.spec.values, (KeyPartRange{std::nullopt, "x", false, false}));
  EXPECT_EQ(read.spec.time->start_us, 0);
  EXPECT_EQ(read.spec.time->end_us, 9);
  ASSERT_EQ(decoded({.values = PartRangeShape{"x", "", kHasStart | kClosed}}, read), "");
  EXPECT_EQ(read.spec.values, (KeyPartRange{"x", std::nullopt, false, false}));
}

TEST(ReadIndexCodec, OneFormOfAConditionAtATime) {
  EXPECT_EQ(refusal({.value = "v", .values = PartRangeShape()}),
            "`value` stands beside `values`; a read has one of the two");
  EXPECT_EQ(refusal({.qualifier = "", .qualifiers = PartRangeShape()}),
            "`qualifier` stands beside `qualifiers`; a read has one of the two");
}

TEST(ReadIndexCodec, AFilterIsForWholeRowsAndALimitIsPositive) {
  const std::vector<fb::FilterNode> filter = {filter_node(fb::FilterKind::PassAll)};
  EXPECT_EQ(refusal({.filter = filter}), "a filter is only for whole rows");
  EXPECT_EQ(refusal({.whole_rows = true, .filter = filter}), "");
  EXPECT_NE(refusal({.whole_rows = true, .filter = {filter_node(fb::FilterKind::Chain)}}), "");
  EXPECT_EQ(refusal({.limit = 0}), "a limit of 0 is below 1");
  EXPECT_EQ(refusal({.limit = -3}), "a limit of -3 is below 1");
  EXPECT_EQ(refusal({.limit = 1}), "");
}

TEST(ReadIndexCodec, CellsAreExplainedAndWholeRowsAreNot) {
  DecodedIndexRead read;
  ASSERT_EQ(decoded({.explain = true}, read), "");
  EXPECT_TRUE(read.spec.explain);
  EXPECT_EQ(refusal({.whole_rows = true, .explain = true}),
            "a read through an index explains cells, not whole rows");
}

TEST(ReadIndexCodec, MalformedRangesAreRefused) {
  EXPECT_EQ(refusal({.values = PartRangeShape{"a", "b", 0x80}}),
            "the range of values: flags 0x80 do not exist");
  EXPECT_EQ(refusal({.qualifiers = PartRangeShape{"a", "b", kHasStart, 1}}),
            "the range of qualifiers: a reserved field is not 0");
  EXPECT_EQ(refusal({.time = fb::TimeRangeRec(1, 2, kHasStart | kOpen, 0, 0, 0)}),
            fmt::format("the range of time: flags {:#x} do not exist", kOpen));
  EXPECT_EQ(refusal({.time = fb::TimeRangeRec(1, 2, kHasStart, 0, 0, 1)}),
            "the range of time: a reserved field is not 0");
  EXPECT_EQ(refusal({.keys = {""}}), "a row key is empty");
}

TEST(ReadIndexCodec, NothingOutsideTheArenaIsTaken) {
  flatbuffers::FlatBufferBuilder builder;
  const auto index = builder.CreateString("i");
  const auto arena = bytes_vector(builder, "abc");
  const fb::Span outside(1, 3);
  fb::ReadIndexRequestBuilder request(builder);
  request.add_index(index);
  request.add_arena(arena);
  request.add_value(&outside);
  const std::string body(finish_body(builder, request.Finish()));
  std::vector<uint64_t> aligned;
  const auto* root = root_of<fb::ReadIndexRequest>(body, aligned);
  ASSERT_NE(root, nullptr);
  DecodedIndexRead read;
  const Result<void> result = decode(*root, read);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "`value` lies outside the arena");
}

}  // namespace
}  // namespace cellar::wire
