#include "engine/scrub/table_check.h"

#include <gtest/gtest.h>

#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

std::map<std::string, std::string> rows(int n, size_t value_bytes = 20) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < n; ++i) {
    const std::string value = fmt::format("{:0>{}}", i * 7919, value_bytes);
    entries.insert(cell_of(fmt::format("row{:05}", i), 1000, 1, value));
  }
  return entries;
}

// Verifies `bytes` as the file of the reader's table.
struct Checked {
  TableDamage damage;
  uint64_t bytes = 0;
  size_t pieces = 0;
  size_t most = 0;  // bytes of a piece
};
Checked check(const TableReader& reader, Bytes bytes) {
  TableCheck check(reader.id());
  Checked checked;
  while (const auto piece = check.next(reader)) {
    ++checked.pieces;
    checked.most = std::max(checked.most, piece->bytes);
    check.take(bytes.substr(piece->offset, piece->bytes));
  }
  checked.damage = check.damage();
  checked.bytes = check.checked_bytes();
  return checked;
}

class TableCheckOf : public testing::TestWithParam<size_t> {
 protected:
  TableWriterOptions options(uint32_t block_bytes = 120) const {
    TableWriterOptions options = small_blocks(block_bytes);
    options.part_bytes = GetParam();
    options.compression = Compression::none;
    return options;
  }
  TableFixture f_;
};

// A whole index, and one in parts.
INSTANTIATE_TEST_SUITE_P(Indexes, TableCheckOf, testing::Values(0, 150));

TEST_P(TableCheckOf, EveryFlippedBitIsFoundWhereItIs) {
  f_.write(rows(8), options(), {{"x", "y", CommitStamp{3}}});
  const std::string good = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  const Checked whole = check(*reader, good);
  EXPECT_FALSE(whole.damage.any()) << whole.damage.first->to_string();
  EXPECT_EQ(whole.bytes, good.size()) << "every byte";
  // A table with parts has its filters in them.
  const TableFooter& footer = reader->footer();
  const uint64_t data_end = GetParam() == 0 ? footer.filter.offset : footer.ranges.offset;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    const size_t at = bit / 8;
    bad[at] = static_cast<char>(bad[at] ^ 1 << bit % 8);
    const TableDamage damage = check(*reader, bad).damage;
    ASSERT_EQ(damage.blocks, 1u) << "bit " << bit % 8 << " of byte " << at;
    ASSERT_LE(damage.offset, at);
    ASSERT_LT(at - damage.offset, 1000u);
    ASSERT_EQ(damage.met.has_value(), at >= kTableHeaderBytes && at < data_end) << at;
    ASSERT_TRUE(damage.first);
  }
}

IndexSchema index_of(uint64_t id, std::string family, cellar::IndexPart part) {
  IndexSchema index;
  index.id = id;
  index.name = fmt::format("i{}", id);
  index.family = std::move(family);
  index.parts = {part};
  return index;
}

// Between two with entries is one without.
IndexSetRef three_indexes() {
  return make_index_set({index_of(2, "f", cellar::IndexPart::time),
                         index_of(5, "g", cellar::IndexPart::time),
                         index_of(9, "f", cellar::IndexPart::value)});
}

TEST_P(TableCheckOf, EveryFlippedBitOfASectionIsFoundAndIsNotMetByReadsOfRows) {
  TableWriterOptions with = options();
  with.indexes = three_indexes();
  const TableMeta meta = f_.write(rows(20), with, {{"x", "y", CommitStamp{3}}});
  const std::string good = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  const Checked whole = check(*reader, good);
  EXPECT_FALSE(whole.damage.any()) << whole.damage.first->to_string();
  EXPECT_EQ(whole.bytes, good.size()) << "every byte";
  size_t sections = 0;
  for (const IndexSection& section : meta.sections) {
    if (section.root.size == 0) continue;
    ++sections;
    EXPECT_GT(section.levels, 1u);
    for (uint64_t bit = section.offset * 8; bit < section.root.end() * 8; ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      const TableDamage damage = check(*reader, bad).damage;
      ASSERT_EQ(damage.blocks, 1u) << bit;
      ASSERT_EQ(damage.sections, 1u) << bit;
      ASSERT_FALSE(damage.met) << bit;
      ASSERT_EQ(damage.offset, section.offset);
      ASSERT_NE(damage.first->message.find("index section"), std::string::npos);
    }
  }
  EXPECT_EQ(sections, 2u);
  std::string bad = good;
  bad[kTableHeaderBytes + 3] ^= 1;
  bad[meta.sections[0].offset] ^= 1;
  bad[meta.sections[2].root.offset] ^= 1;
  bad[bad.size() - 1] ^= 1;
  const TableDamage damage = check(*reader, bad).damage;
  EXPECT_EQ(damage.blocks, 4u);
  EXPECT_EQ(damage.sections, 2u);
  EXPECT_TRUE(damage.met);
}

TEST_P(TableCheckOf, ASectionLargerThanAPieceComesInSeveral) {
  TableWriterOptions with = options(4096);
  with.indexes = three_indexes();
  const TableMeta meta = f_.write(rows(16000, 100), with);
  ASSERT_GT(meta.sections[2].bytes(), 2 * TableCheck::kPieceBytes);
  const std::string good = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  const Checked whole = check(*reader, good);
  EXPECT_FALSE(whole.damage.any()) << whole.damage.first->to_string();
  EXPECT_EQ(whole.bytes, good.size());
  EXPECT_LE(whole.most, TableCheck::kPieceBytes);
  for (const uint64_t at : {meta.sections[2].offset, meta.sections[2].offset + 400'000,
                            meta.sections[2].root.end() - 1}) {
    std::string bad = good;
    bad[at] ^= 4;
    EXPECT_EQ(check(*reader, bad).damage.sections, 1u) << at;
  }
}

TEST_P(TableCheckOf, AllDamagedBlocksAreCounted) {
  f_.write(rows(50), options());
  std::string bytes = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  bytes[kTableHeaderBytes + 5] ^= 1;
  bytes[bytes.size() - 1] ^= 1;
  EXPECT_EQ(check(*reader, bytes).damage.blocks, 2u);
}

TEST_P(TableCheckOf, PiecesAreLargeButBounded) {
  f_.write(rows(3000, 1000), options(4096));
  const std::string bytes = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  const Checked whole = check(*reader, bytes);
  EXPECT_FALSE(whole.damage.any());
  EXPECT_EQ(whole.bytes, bytes.size());
  EXPECT_LE(whole.most, TableCheck::kPieceBytes);
  if (GetParam() == 0) EXPECT_LE(whole.pieces, bytes.size() / TableCheck::kPieceBytes * 2 + 8);
}

TEST_P(TableCheckOf, ABlockLargerThanAPieceComesInSeveral) {
  auto entries = rows(2);
  entries.insert(cell_of("large", 1000, 1, std::string(3 * TableCheck::kPieceBytes + 17, 'x')));
  f_.write(entries, options());
  const std::string good = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  const Checked whole = check(*reader, good);
  EXPECT_FALSE(whole.damage.any());
  EXPECT_EQ(whole.bytes, good.size());
  EXPECT_LE(whole.most, TableCheck::kPieceBytes);
  for (const size_t at : {size_t{1000}, 2 * TableCheck::kPieceBytes, good.size() / 2}) {
    std::string bad = good;
    bad[at] ^= 4;
    EXPECT_EQ(check(*reader, bad).damage.blocks, 1u) << at;
  }
}

TEST_P(TableCheckOf, APieceThatCannotBeReadDoesNotEndIt) {
  f_.write(rows(2000, 1000), options(4096));
  const std::string bytes = f_.store.bytes(kBlob);
  const auto reader = f_.open(kBlob);
  TableCheck check(kBlob);
  size_t pieces = 0;
  while (const auto piece = check.next(*reader)) {
    if (++pieces == 2) {
      check.failed(Error(Errc::unavailable, "no"));
    } else {
      check.take(Bytes(bytes).substr(piece->offset, piece->bytes));
    }
  }
  EXPECT_EQ(check.damage().failed_reads, 1u);
  EXPECT_EQ(check.damage().blocks, 0u);
  EXPECT_TRUE(check.damage().any());
  EXPECT_GT(pieces, 4u);
}

}  // namespace
}  // namespace cellar::engine
