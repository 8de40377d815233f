#include <gtest/gtest.h>

#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "io/base/random.h"
#include "tests/support/model_script.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

using Move = BlockReader::Move;

std::string build(const EntryMap& entries) {
  BlockWriter writer;
  for (const auto& [key, value] : entries) writer.add(key, value);
  const size_t promised = writer.bytes();
  std::string block(writer.finish());
  EXPECT_EQ(block.size(), promised);
  return block;
}

EntryMap random_map(Random& random, size_t most) {
  EntryMap entries;
  for (uint64_t n = 1 + random.below(most); n > 0; --n) {
    entries[random_segment(random, random.one_in(20) ? 600 : 6)] = random_segment(random, 30);
  }
  return entries;
}

TEST(Block, EverySeekInBothDirectionsAnswersAsTheMap) {
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string shared(random.one_in(2) ? random.below(30) : 0, 'p');
    EntryMap model;
    for (const auto& [key, value] : random_map(random, random.one_in(4) ? 600 : 80))
      model[(random.one_in(50) ? "" : shared) + key] = value;
    const std::string block = build(model);
    const BlockHeads heads = make_block_heads(block);
    BlockReader reader;
    ASSERT_TRUE(reader.open(block, random.one_in(4) ? nullptr : &heads));
    for (int i = 0; i < 200; ++i) {
      const std::string probe = (random.one_in(4) ? "" : shared) + random_segment(random, 6);
      const auto at = model.lower_bound(probe);
      const Move move = reader.seek(probe);
      ASSERT_EQ(move == Move::ready, at != model.end());
      if (at != model.end()) ASSERT_EQ(reader.key(), at->first);
      if (at != model.end()) ASSERT_EQ(reader.value(), at->second);
      const Move before = reader.seek_before(probe);
      ASSERT_EQ(before == Move::ready, at != model.begin());
      if (at == model.begin()) continue;
      ASSERT_EQ(reader.key(), std::prev(at)->first);
      ASSERT_EQ(reader.next() == Move::ready, at != model.end());
    }
    size_t n = 0;
    for (Move m = reader.seek_first(); m == Move::ready; m = reader.next()) ++n;
    ASSERT_EQ(n, model.size());
  }
}

TEST(Block, DamagedContentsEndInCorruptAndNeverOutside) {
  Random random(9);
  for (int round = 0; round < 3000; ++round) {
    std::string block = build(random_map(random, 40));
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      block[random.below(block.size())] = static_cast<char>(random.next());
    }
    if (random.one_in(3)) block.resize(random.below(block.size() + 1));
    // On the heap and of exact size, so that a sanitizer reports every read outside.
    const std::vector<char> exact(block.begin(), block.end());
    const Bytes contents(exact.data(), exact.size());
    const BlockHeads heads = make_block_heads(contents);
    BlockReader reader;
    if (!reader.open(contents, random.one_in(2) ? &heads : nullptr)) continue;
    size_t n = 0;
    Move move = reader.seek_first();
    for (; move == Move::ready; move = reader.next()) ASSERT_LE(++n, block.size());
    const std::string probe = random_segment(random, 6);
    (void)reader.seek(probe);
    (void)reader.seek_before(probe);
  }
}

TEST(StoredBlock, EveryFlippedBitIsFoundAndSoIsTheWrongPlace) {
  for (const bool compress : {false, true}) {
    std::string stored;
    const std::string raw(100, 'x');
    append_block(stored, raw, compress, BlobId{7}, 4096);
    EXPECT_EQ(stored.size() < 60, compress);
    ASSERT_EQ(read_block(stored, BlobId{7}, 4096).value(), raw);
    for (size_t bit = 0; bit < stored.size() * 8; ++bit) {
      std::string bad = stored;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      ASSERT_FALSE(read_block(bad, BlobId{7}, 4096).has_value());
    }
    const auto elsewhere = read_block(stored, BlobId{7}, 8192);
    ASSERT_FALSE(elsewhere.has_value());
    EXPECT_EQ(elsewhere.error().code, Errc::data_loss);
    EXPECT_NE(elsewhere.error().message.find("blob 0000000000000007 at 8192"), std::string::npos);
    EXPECT_FALSE(read_block(stored, BlobId{8}, 4096).has_value());
  }
}

TEST(StoredBlock, WhatDoesNotCompressIsKeptAsItIs) {
  Random random(3);
  std::string noise(1000, '\0');
  for (char& c : noise) c = static_cast<char>(random.next());
  std::string stored;
  EXPECT_EQ(append_block(stored, noise, true, BlobId{1}, 0), noise.size() + kBlockTrailerBytes);
  const auto checked = check_block(stored, BlobId{1}, 0);
  ASSERT_TRUE(checked.has_value());
  EXPECT_EQ(checked->type, BlockType::raw);
}

TEST(Filter, NeverMissesARowAndErrsRarely) {
  FilterBuilder builder;
  constexpr int kRows = 20000;
  const auto hash = [](int i) { return row_hash(row_prefix(fmt::format("row{:08}", i))); };
  for (int i = 0; i < kRows; ++i) builder.add(hash(i));
  Filter filter;
  ASSERT_TRUE(filter.open(builder.finish(10)));
  EXPECT_LE(filter.memory_bytes() * 8, size_t{kRows} * 10 + 1024);
  for (int i = 0; i < kRows; ++i) ASSERT_TRUE(filter.may_contain(hash(i)));
  int wrong = 0;
  constexpr int kProbes = 100000;
  for (int i = 0; i < kProbes; ++i) wrong += filter.may_contain(hash(kRows + i)) ? 1 : 0;
  EXPECT_LT(wrong, kProbes * 15 / 1000) << "1.5 %";
  EXPECT_GT(wrong, 0);
}

TEST(Filter, WithoutOneEverythingMayBeThereAndAnEmptyOneHoldsNothing) {
  Filter none;
  EXPECT_TRUE(none.may_contain(1));
  Filter empty;
  ASSERT_TRUE(empty.open(FilterBuilder().finish(10)));
  EXPECT_FALSE(empty.may_contain(1));
}

TEST(Filter, BytesThatAreNoneAreRefused) {
  FilterBuilder builder;
  builder.add(1);
  const std::string good = builder.finish(10);
  for (size_t n = 0; n < good.size(); ++n) {
    Filter filter;
    EXPECT_FALSE(filter.open(Bytes(good).substr(0, n)));
  }
}

}  // namespace
}  // namespace cellar::engine
