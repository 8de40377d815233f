// Decoding of reads: filters, rows, ranges, limits.
#include "net/wire/read_codec.h"

#include <gtest/gtest.h>

#include "tests/net/wire/aligned_body.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::wire {
namespace {

Errc filter_code(const std::vector<fb::FilterNode>& nodes, FilterSpec* out = nullptr,
                 std::string_view arena = "UPabz") {
  flatbuffers::FlatBufferBuilder builder;
  const auto list = builder.CreateVectorOfStructs(nodes);
  const auto bytes = bytes_vector(builder, arena);
  const fb::Span key(0, 1);
  builder.Finish(fb::CreateReadRowRequest(builder, 0, &key, list, bytes));
  const auto* root = flatbuffers::GetRoot<fb::ReadRowRequest>(builder.GetBufferPointer());
  FilterSpec filter;
  const auto decoded = decode_filter(root->filter(), bytes_of(root->arena()), filter);
  if (out != nullptr) *out = filter;
  return decoded ? Errc::ok : decoded.error().code;
}

constexpr uint8_t kStart = static_cast<uint8_t>(fb::RangeFlag::HasStart);
constexpr uint8_t kEnd = static_cast<uint8_t>(fb::RangeFlag::HasEnd);

TEST(Filter, IsATreeOfTheModel) {
  using K = fb::FilterKind;
  FilterSpec filter;
  EXPECT_EQ(filter_code({filter_node(K::PassAll)}, &filter), Errc::ok);
  ASSERT_EQ(filter.nodes.size(), 1u);
  EXPECT_EQ(filter.nodes[0].kind, FilterKind::pass);
  EXPECT_EQ(filter_code({filter_node(K::Chain, 0, 0, 0, 3),
                         filter_node(K::TimestampRange, 1000, 2000, kStart | kEnd),
                         filter_node(K::CellsPerColumnLimit, 3),
                         fb::FilterNode(0, 0, 0, fb::Span(2, 1), fb::Span(3, 2), fb::Span(0, 2), 0,
                                        static_cast<uint8_t>(K::ColumnRange), kStart | kEnd, 0)},
                        &filter),
            Errc::ok);
  ASSERT_EQ(filter.nodes.size(), 4u);
  EXPECT_EQ(filter.nodes[0].child_count, 3u);
  EXPECT_TRUE(filter.nodes[1].has_start && filter.nodes[1].has_end);
  EXPECT_EQ(filter.nodes[1].start, 1000);
  EXPECT_EQ(filter.nodes[1].end, 2000);
  EXPECT_EQ(filter.nodes[2].start, 3);
  EXPECT_EQ(filter.nodes[3].text, "a");
  EXPECT_EQ(filter.nodes[3].end_text, "bz");
  EXPECT_EQ(filter.nodes[3].family, "UP");
}

TEST(Filter, FormErrorsAreRefused) {
  using K = fb::FilterKind;
  const auto bad = Errc::invalid_argument;
  EXPECT_EQ(filter_code({filter_node(K::Chain, 0, 0, 0, 1), filter_node(K::PassAll)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::Interleave)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::Chain, 0, 0, 0, 2), filter_node(K::PassAll)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::PassAll), filter_node(K::PassAll)}), bad);
  EXPECT_EQ(filter_code({filter_node(static_cast<K>(0))}), bad);
  EXPECT_EQ(filter_code({filter_node(static_cast<K>(21))}), bad);
  EXPECT_EQ(filter_code({filter_node(K::CellsPerRowLimit, 0)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::CellsPerColumnLimit, -1)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::CellsPerRowOffset, -1)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::TimestampRange, 2000, 1000, kStart | kEnd)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::TimestampRange, 1000, 1000, kStart | kEnd)}), bad);
  EXPECT_EQ(filter_code({filter_node(K::TimestampRange, -1, 0, kStart)}), bad);
  for (const double sample : {0.0, 1.0, 1.5, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(filter_code({filter_node(K::RowSample, 0, 0, 0, 0, sample)}), bad) << sample;
  }
  const auto condition =
      filter_node(K::Condition, 0, 0, static_cast<uint8_t>(fb::RangeFlag::HasThen), 2);
  EXPECT_EQ(filter_code({condition, filter_node(K::PassAll), filter_node(K::Sink)}), bad);
  const fb::FilterNode label(0, 0, 0, fb::Span(0, 2), fb::Span(0, 0), fb::Span(0, 0), 0,
                             static_cast<uint8_t>(K::ApplyLabel), 0, 0);
  EXPECT_EQ(filter_code({label}), bad);
  const fb::FilterNode range(0, 0, 0, fb::Span(4, 1), fb::Span(2, 1), fb::Span(0, 0), 0,
                             static_cast<uint8_t>(K::ValueRange), kStart | kEnd, 0);
  EXPECT_EQ(filter_code({range}), bad);
  // One label a cell: a chain that would give two is refused; interleaved copies are not.
  const fb::FilterNode good_label(0, 0, 0, fb::Span(2, 1), fb::Span(0, 0), fb::Span(0, 0), 0,
                                  static_cast<uint8_t>(K::ApplyLabel), 0, 0);
  EXPECT_EQ(filter_code({filter_node(K::Chain, 0, 0, 0, 2), good_label, good_label}), bad);
  EXPECT_EQ(filter_code({filter_node(K::Interleave, 0, 0, 0, 2), good_label, good_label}),
            Errc::ok);
  EXPECT_EQ(filter_code({filter_node(K::Condition, 0, 0, 0, 1), filter_node(K::PassAll)}), bad);
  // Flags of another kind, bytes outside the arena, a wrong count of children.
  EXPECT_EQ(filter_code({filter_node(K::PassAll, 0, 0, kStart)}), bad);
  const fb::FilterNode outside(0, 0, 0, fb::Span(4, 2), fb::Span(0, 0), fb::Span(0, 0), 0,
                               static_cast<uint8_t>(K::ValueRegex), 0, 0);
  EXPECT_EQ(filter_code({outside}), bad);
  EXPECT_EQ(filter_code({filter_node(K::Chain, 0, 0, 0, 0xffffffff), filter_node(K::PassAll)}),
            bad);
}

TEST(Filter, DepthAndSizeAreBounded) {
  const auto nested = [](size_t levels) {
    std::vector<fb::FilterNode> nodes;
    for (size_t i = 1; i < levels; ++i)
      nodes.push_back(filter_node(fb::FilterKind::Chain, 0, 0, 0, 2));
    for (size_t i = 0; i < levels; ++i) nodes.push_back(filter_node(fb::FilterKind::PassAll));
    return nodes;
  };
  EXPECT_EQ(filter_code(nested(kMaxFilterDepth)), Errc::ok);
  EXPECT_EQ(filter_code(nested(kMaxFilterDepth + 1)), Errc::invalid_argument);
  const std::string arena(kMaxFilterBytes, 'x');
  const auto regex = [](uint32_t size) {
    return fb::FilterNode(0, 0, 0, fb::Span(0, size), fb::Span(0, 0), fb::Span(0, 0), 0,
                          static_cast<uint8_t>(fb::FilterKind::RowRegex), 0, 0);
  };
  EXPECT_EQ(filter_code({regex(kMaxFilterBytes - 8)}, nullptr, arena), Errc::ok);
  EXPECT_EQ(filter_code({regex(kMaxFilterBytes - 7)}, nullptr, arena), Errc::invalid_argument);
}

TEST(Filter, BoundsAreHeldAgainstTheGranularity) {
  FilterSpec filter;
  filter.nodes.resize(1);
  filter.nodes[0].kind = FilterKind::time_range;
  filter.nodes[0].has_start = true;
  filter.nodes[0].start = 1500;
  EXPECT_FALSE(check_granularity(filter, Granularity::millis));
  EXPECT_TRUE(check_granularity(filter, Granularity::micros));
}

Errc read_code(const ReadRowsShape& shape, DecodedRead* out = nullptr) {
  std::vector<uint64_t> aligned;
  DecodedRead read;
  const std::string body = read_rows_body("t", shape);
  const auto decoded = decode(*root_of<fb::ReadRowsRequest>(body, aligned), read);
  if (out != nullptr) *out = std::move(read);
  return decoded ? Errc::ok : decoded.error().code;
}

TEST(ReadRows, RangesAreCheckedAndNormalised) {
  DecodedRead read;
  EXPECT_EQ(read_code({}, &read), Errc::ok);
  EXPECT_EQ(read.spec.rows.ranges().size(), 1u);
  EXPECT_EQ(read.credits, kDefaultChunkCredits);
  EXPECT_EQ(read_code({.ranges = {{"d", "b"}}}), Errc::invalid_argument);
  EXPECT_EQ(read_code({.ranges = {{"b", "b"}}}, &read), Errc::ok);
  EXPECT_TRUE(read.spec.rows.ranges().empty());
  EXPECT_EQ(read_code({.ranges = {{"a", "c"}, {"b", "d"}}}, &read), Errc::ok);
  EXPECT_EQ(read.spec.rows.ranges().size(), 1u);
  EXPECT_EQ(read_code({.ranges = {{std::string(kMaxRowKeyBytes, 'k'), ""}}}), Errc::ok);
  EXPECT_EQ(read_code({.ranges = {{std::string(kMaxRowKeyBytes + 1, 'k'), ""}}}),
            Errc::invalid_argument);
  EXPECT_EQ(read_code({.credits = 1'000'000}, &read), Errc::ok);
  EXPECT_EQ(read.credits, kMaxChunkCredits);
}

TEST(ReadRow, KeysAtTheBoundAndOnePast) {
  std::vector<uint64_t> aligned;
  DecodedRead read;
  const auto code = [&](std::string_view row) {
    const std::string body = read_row_body("t", row);
    const auto decoded = decode(*root_of<fb::ReadRowRequest>(body, aligned), read);
    return decoded ? Errc::ok : decoded.error().code;
  };
  EXPECT_EQ(code(""), Errc::invalid_argument);
  EXPECT_EQ(code("r"), Errc::ok);
  EXPECT_EQ(code(std::string(kMaxRowKeyBytes, 'k')), Errc::ok);
  EXPECT_EQ(code(std::string(kMaxRowKeyBytes + 1, 'k')), Errc::invalid_argument);
}

}  // namespace
}  // namespace cellar::wire
