// Bodies of Get and Put: what is written is read back, and no damaged body is read as another.
#include "net/wire/point_codec.h"

#include <gtest/gtest.h>

#include "engine/model/key.h"
#include "io/base/random.h"

namespace cellar::wire {
namespace {

std::string text_of(Random& random, size_t most) {
  std::string out(random.below(most + 1), '\0');
  for (char& c : out) c = static_cast<char>('a' + random.below(3));
  return out;
}

struct Cells {
  std::vector<std::string> bytes;  // that the mutations view
  std::vector<Mutation> mutations;
};

Cells random_cells(Random& random) {
  Cells all;
  const size_t count = 1 + random.below(20);
  all.bytes.reserve(3 * count);
  for (size_t i = 0; i < count; ++i) {
    Mutation& cell = all.mutations.emplace_back();
    cell.family = all.bytes.emplace_back(text_of(random, 2));
    cell.qualifier = all.bytes.emplace_back(text_of(random, 2));
    cell.value = all.bytes.emplace_back(text_of(random, 40));
    if (random.below(2) == 0) cell.timestamp_us = static_cast<int64_t>(random.below(1u << 30));
    if (random.below(3) == 0) cell.expire_at_us = static_cast<int64_t>(random.below(1u << 30));
    if (cell.expire_at_us == kNoExpiry && random.below(3) == 0) {
      cell.ttl_us = static_cast<int64_t>(random.below(1u << 30));
    }
  }
  return all;
}

void expect_same(const Mutation& read, const Mutation& written) {
  EXPECT_EQ(read.family, written.family);
  EXPECT_EQ(read.qualifier, written.qualifier);
  EXPECT_EQ(read.value, written.value);
  EXPECT_EQ(read.timestamp_us, written.timestamp_us);
  EXPECT_EQ(read.expire_at_us, written.expire_at_us);
  EXPECT_EQ(read.ttl_us, written.ttl_us);
}

TEST(PointCodec, APutIsReadBack) {
  Random random(1);
  DecodedWrites read;
  for (int round = 0; round < 500; ++round) {
    const Cells cells = random_cells(random);
    const std::string row = "r" + text_of(random, 20);
    std::string body;
    append_put(body, {row, cells.mutations}, Durability::periodic);
    ASSERT_EQ(body.size() % 8, 0u);
    const auto decoded = decode_put(body, read);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(read.target.level, Durability::periodic);
    ASSERT_EQ(read.rows.size(), 1u);
    EXPECT_EQ(read.rows[0].row, row);
    ASSERT_EQ(read.mutations.size(), cells.mutations.size());
    for (size_t i = 0; i < read.mutations.size(); ++i) {
      expect_same(read.mutations[i], cells.mutations[i]);
    }
  }
}

TEST(PointCodec, AGetIsReadBack) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> names;
    names.reserve(20);
    DecodedGet get;
    const std::string row = "r" + text_of(random, 20);
    get.row = row;
    get.versions = static_cast<uint32_t>(random.below(5));
    for (size_t i = random.below(8); i > 0; --i) {
      const std::string& family = names.emplace_back(text_of(random, 5));
      get.columns.push_back({family, names.emplace_back(text_of(random, 5))});
    }
    std::string body;
    append_get(body, get);
    DecodedGet read;
    ASSERT_TRUE(decode_get(body, read));
    EXPECT_EQ(read.row, get.row);
    EXPECT_EQ(row_of_get(body), get.row);
    EXPECT_EQ(read.versions, get.versions);
    ASSERT_EQ(read.columns.size(), get.columns.size());
    for (size_t i = 0; i < read.columns.size(); ++i) {
      EXPECT_EQ(read.columns[i].family, get.columns[i].family);
      EXPECT_EQ(read.columns[i].qualifier, get.columns[i].qualifier);
    }
  }
}

TEST(PointCodec, TheCellsOfAnAnswerAreReadBack) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Cells cells = random_cells(random);
    std::string body = "before";
    GotBuilder builder(body, SIZE_MAX);
    for (const Mutation& cell : cells.mutations) {
      EXPECT_EQ(builder.cell({.row = "r",
                              .family = cell.family,
                              .qualifier = cell.qualifier,
                              .timestamp_us = cell.timestamp_us,
                              .value = cell.value}),
                CellSink::Flow::more);
    }
    builder.finish();
    GotReader reader(Bytes(body).substr(6));
    size_t next = 0;
    for (GotCell cell; reader.next(cell); ++next) {
      ASSERT_LT(next, cells.mutations.size());
      EXPECT_EQ(cell.family, cells.mutations[next].family);
      EXPECT_EQ(cell.qualifier, cells.mutations[next].qualifier);
      EXPECT_EQ(cell.timestamp_us, cells.mutations[next].timestamp_us);
      EXPECT_EQ(cell.value, cells.mutations[next].value);
    }
    EXPECT_EQ(next, cells.mutations.size());
    EXPECT_TRUE(reader.intact());
  }
}

TEST(PointCodec, TheCellThatFillsAnAnswerPausesTheRead) {
  std::string body;
  GotBuilder builder(body, 1000);
  const std::string value(300, 'v');
  const CellView one{.row = "r", .family = "f", .qualifier = "q", .value = value};
  EXPECT_EQ(builder.cell(one), CellSink::Flow::more);
  EXPECT_EQ(builder.cell(one), CellSink::Flow::more);
  EXPECT_EQ(builder.cell(one), CellSink::Flow::more);
  EXPECT_EQ(builder.cell(one), CellSink::Flow::pause);
}

// Every prefix of a body is refused, except that the padding may be shorter.
TEST(PointCodec, ACutBodyIsRefused) {
  Mutation cell;
  cell.family = "family";
  cell.qualifier = "qualifier";
  cell.value = "value";
  std::string put;
  append_put(put, {"row", {&cell, 1}}, std::nullopt);
  DecodedGet get;
  get.row = "row";
  get.columns = {{"f", "q"}, {"f", "r"}};
  std::string got;
  append_get(got, get);
  DecodedWrites writes;
  DecodedGet reads;
  const size_t put_end = sizeof(fb::PutRec) + 3 + sizeof(fb::PutCellRec) + 6 + 9 + 5;
  const size_t get_end = sizeof(fb::GetRec) + 2 * sizeof(fb::ColumnRec) + 3 + 4;
  for (size_t n = 0; n < put.size(); ++n) {
    EXPECT_EQ(decode_put(Bytes(put).substr(0, n), writes).has_value(), n >= put_end) << n;
  }
  for (size_t n = 0; n < got.size(); ++n) {
    EXPECT_EQ(decode_get(Bytes(got).substr(0, n), reads).has_value(), n >= get_end) << n;
  }
}

TEST(PointCodec, WhatDoesNotBelongIsRefused) {
  Mutation cell;
  cell.family = "f";
  cell.qualifier = "q";
  cell.value = "v";
  std::string good;
  append_put(good, {"row", {&cell, 1}}, std::nullopt);
  DecodedWrites writes;
  const auto refused = [&](auto change) {
    std::string body = good;
    change(body);
    return !decode_put(body, writes).has_value();
  };
  const size_t flags_at = sizeof(fb::PutRec) + 3 + sizeof(fb::PutCellRec) - 1;
  EXPECT_FALSE(refused([](std::string&) {}));
  EXPECT_TRUE(refused([](std::string& b) { b += std::string(8, '\0'); })) << "too much padding";
  EXPECT_TRUE(refused([](std::string& b) { b.back() = 1; })) << "padding that is not 0";
  EXPECT_TRUE(refused([](std::string& b) { b[4] = 7; })) << "durability";
  EXPECT_TRUE(refused([](std::string& b) { b[5] = 1; })) << "reserved";
  for (const int flags : {0x08, 0x20, 0x40, 0x80, 0x06}) {
    EXPECT_TRUE(refused([&](std::string& b) { b[flags_at] = static_cast<char>(flags); })) << flags;
  }
  for (const size_t size : {size_t{0}, kMaxRowKeyBytes, kMaxRowKeyBytes + 1}) {
    const std::string row(size, 'r');
    DecodedGet reads;
    reads.row = row;
    std::string get;
    append_get(get, reads);
    EXPECT_EQ(decode_get(get, reads).has_value(), size == kMaxRowKeyBytes) << size;
  }
}

// Random bytes are refused or read within their bounds (under AddressSanitizer).
TEST(PointCodec, RandomBytesAreReadWithinTheirBounds) {
  Random random(4);
  DecodedWrites writes;
  DecodedGet get;
  for (int round = 0; round < 20'000; ++round) {
    std::string body(random.below(80), '\0');
    for (char& c : body) c = static_cast<char>(random.below(4) == 0 ? random.below(256) : 0);
    const std::string exact(body.data(), body.size());
    (void)decode_put(exact, writes);
    (void)decode_get(exact, get);
    EXPECT_LE(row_of_get(exact).size(), exact.size());
    EXPECT_LE(row_of_put(exact).size(), exact.size());
    GotReader reader(exact);
    for (GotCell cell; reader.next(cell);) EXPECT_LE(cell.value.size(), exact.size());
  }
}

}  // namespace
}  // namespace cellar::wire
