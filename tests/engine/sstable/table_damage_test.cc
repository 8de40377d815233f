#include <gtest/gtest.h>

#include "tests/support/model_script.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

EntryMap rows(int n) {
  EntryMap entries;
  for (int i = 0; i < n; ++i) {
    entries.insert(cell_of(fmt::format("row{:03}", i), 1000, 1, fmt::format("value {}", i * i)));
  }
  return entries;
}

// Reads everything: the entries, or the first error.
Result<EntryMap> read_all(TableFixture& f, BlobId id) {
  auto reader = f.try_open(id);
  if (!reader) return std::unexpected(std::move(reader).error());
  TableIterator it(**reader);
  EntryMap seen;
  Step step = f.finish(it, it.seek(""));
  for (; step == Step::ready; step = f.finish(it, it.next())) {
    seen.emplace(it.key(), it.value());
  }
  if (step == Step::failed) return std::unexpected(it.error());
  return seen;
}

class EveryBit : public testing::TestWithParam<size_t> {};

// Tables with a whole index, and with a partitioned one.
INSTANTIATE_TEST_SUITE_P(TableDamage, EveryBit, testing::Values(0, 150));

TEST_P(EveryBit, ThatIsFlippedIsFoundOrHarmless) {
  TableFixture f;
  const EntryMap entries = rows(8);
  TableWriterOptions options = small_blocks(120);
  options.part_bytes = GetParam();
  f.write(entries, options, {{"x", "y", CommitStamp{3}}});
  const std::string good = f.store.bytes(kBlob);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    f.store.put(BlobId{1}, good);
    f.store.put(kBlob, bad);
    f.cache.set_budget(0);  // nothing cached by the previous round may answer
    f.cache.set_budget(1u << 20);
    const auto seen = read_all(f, kBlob);
    if (bit / 8 < kTableHeaderBytes) {
      // Readers rely on the footer; the header is for tools that identify a file.
      ASSERT_TRUE(seen.has_value());
      ASSERT_FALSE(check_table_header(Bytes(bad).substr(0, kTableHeaderBytes), kBlob).has_value());
      continue;
    }
    ASSERT_FALSE(seen.has_value()) << "bit " << bit % 8 << " of byte " << bit / 8;
    ASSERT_TRUE(seen.error().code == Errc::data_loss ||
                seen.error().code == Errc::failed_precondition)
        << seen.error().to_string();
  }
}

TEST(TableDamage, TwoSwappedBlocksAreFound) {
  TableFixture f;
  TableWriterOptions options = small_blocks(160);
  options.compression = Compression::none;
  f.write(rows(40), options);
  std::string& bytes = f.store.bytes(kBlob);
  size_t swaps = 0;
  {
    const auto reader = f.open(kBlob);
    const TableIndex& index = reader->index();
    for (size_t i = 1; i + 2 < index.blocks() && swaps == 0; ++i) {
      const BlockHandle a = index.handle(i);
      const BlockHandle b = index.handle(i + 1);
      if (a.size != b.size) continue;
      std::swap_ranges(bytes.begin() + static_cast<ptrdiff_t>(a.offset),
                       bytes.begin() + static_cast<ptrdiff_t>(a.end()),
                       bytes.begin() + static_cast<ptrdiff_t>(b.offset));
      ++swaps;
    }
  }
  ASSERT_EQ(swaps, 1u) << "the table should have neighbours of one size";
  const auto seen = read_all(f, kBlob);
  ASSERT_FALSE(seen.has_value());
  EXPECT_EQ(seen.error().code, Errc::data_loss);
}

TEST(TableDamage, ATableUnderAnotherIdIsFound) {
  TableFixture f;
  f.write(rows(3), small_blocks());
  f.store.put(BlobId{77}, f.store.bytes(kBlob));
  const auto reader = f.try_open(BlobId{77});
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code, Errc::data_loss);
}

TEST(TableDamage, ACutTableIsFound) {
  TableFixture f;
  f.write(rows(20), small_blocks(200));
  const std::string good = f.store.bytes(kBlob);
  for (size_t n = 0; n < good.size(); n += 7) {
    f.store.put(kBlob, good.substr(0, n));
    ASSERT_FALSE(f.try_open(kBlob).has_value()) << n;
  }
}

TEST(TableDamage, AnotherFormatIsRefusedByItsNumber) {
  TableFixture f;
  f.write(rows(1), small_blocks());
  std::string& bytes = f.store.bytes(kBlob);
  for (const uint32_t format : {1, 2, 3, 5}) {
    store_le(bytes.data() + bytes.size() - 16, format);
    const std::string before = bytes;
    const auto reader = f.try_open(kBlob);
    ASSERT_FALSE(reader.has_value());
    EXPECT_EQ(reader.error().code, Errc::failed_precondition);
    EXPECT_EQ(reader.error().message,
              fmt::format("blob {:016x} has table format {}; this program reads format 4 only",
                          kBlob.value(), format));
    EXPECT_EQ(bytes, before);
  }
}

TEST(TableDamage, OnlyTheDamagedBlockIsLostAndTheErrorNamesIt) {
  TableFixture f;
  f.write(rows(100), small_blocks(200));
  const auto reader = f.open(kBlob);
  const BlockHandle broken = reader->index().handle(3);
  f.store.bytes(kBlob)[broken.offset + 5] ^= 0x10;
  const std::string inside(reader->index().separator(3));
  const std::string behind(reader->index().separator(4));
  TableIterator it(*reader);
  ASSERT_EQ(f.finish(it, it.seek(inside)), Step::failed);
  EXPECT_EQ(it.error().code, Errc::data_loss);
  EXPECT_NE(it.error().message.find(block_name(kBlob, broken.offset)), std::string::npos)
      << it.error().message;
  EXPECT_EQ(f.finish(it, it.seek(behind)), Step::ready);
  EXPECT_EQ(f.finish(it, it.seek("")), Step::ready);
  // The damaged block was not cached: the next read goes to the device and may succeed.
  f.store.bytes(kBlob)[broken.offset + 5] ^= 0x10;
  EXPECT_EQ(f.finish(it, it.seek(inside)), Step::ready);
}

TEST(TableDamage, ADamagedNeighbourThatWasReadAlongDoesNotFailTheWant) {
  TableFixture f;
  const EntryMap entries = rows(100);
  f.write(entries, small_blocks(200));
  const auto reader = f.open(kBlob);
  const BlockHandle broken = reader->index().handle(6);
  f.store.bytes(kBlob)[broken.offset + 5] ^= 0x10;
  TableIterator it(*reader, TableIteratorOptions::for_compaction());
  size_t seen = 0;
  Step step = f.finish(it, it.seek(""));
  for (; step == Step::ready; step = f.finish(it, it.next())) ++seen;
  EXPECT_EQ(step, Step::failed);
  EXPECT_EQ(it.error().code, Errc::data_loss);
  EXPECT_GT(seen, 10u);
  EXPECT_LT(seen, 100u);
}

TEST(TableDamage, ADeviceErrorInReadAheadIsNarrowedToItsBlockAndNotRemembered) {
  TableFixture f;
  f.write(rows(100), small_blocks(200));
  const auto reader = f.open(kBlob);
  f.store.fail_reads_of(reader->index().handle(6).offset + 1);
  TableIterator it(*reader, TableIteratorOptions::for_compaction());
  size_t seen = 0;
  Step step = f.finish(it, it.seek(""));
  for (; step == Step::ready; step = f.finish(it, it.next())) ++seen;
  ASSERT_EQ(step, Step::failed);
  EXPECT_EQ(it.error().code, Errc::unavailable);
  EXPECT_GT(seen, 10u);
  f.store.heal();
  seen = 0;
  step = f.finish(it, it.seek(""));
  for (; step == Step::ready; step = f.finish(it, it.next())) ++seen;
  EXPECT_EQ(seen, 100u);
}

}  // namespace
}  // namespace cellar::engine
