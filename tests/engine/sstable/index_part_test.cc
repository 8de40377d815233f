// IndexPartition: finds the block that a linear search finds, and reads only its own bytes,
// whatever they contain.
#include <gtest/gtest.h>

#include <set>

#include "engine/sstable/index_parts.h"
#include "io/base/coding.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr uint64_t kDataOffset = 5000;

// Keys with common prefixes longer than a head, and some others.
std::string random_shared_key(Random& random, const std::string& shared) {
  std::string key = random.one_in(12) ? std::string() : shared;
  for (uint64_t n = random.below(12); n > 0; --n)
    key.push_back(static_cast<char>(random.one_in(3) ? 0xff * random.below(2) : random.below(4)));
  return key;
}

TimeBounds random_bounds(Random& random) {
  TimeBounds bounds;
  if (random.one_in(2)) bounds.add_cell(static_cast<int64_t>(random.below(1000)), kNoExpiry);
  if (random.one_in(5)) bounds.add_delete_of_everything();
  return bounds;
}

struct Model {
  std::string separator;
  uint32_t size;
  uint32_t raw_bytes;
  TimeBounds bounds;
};

std::vector<Model> random_blocks(Random& random, const std::string& shared) {
  std::set<std::string> keys;
  for (uint64_t n = 1 + random.below(40); n > 0; --n)
    keys.insert(random_shared_key(random, shared));
  std::vector<Model> blocks;
  for (const std::string& key : keys) {
    blocks.push_back({key, 10 + static_cast<uint32_t>(random.below(5000)),
                      static_cast<uint32_t>(random.below(1 << 20)), random_bounds(random)});
  }
  return blocks;
}

std::string encode(const std::vector<Model>& blocks, Bytes rows = "", Bytes columns = "") {
  IndexPartitionBuilder builder;
  for (const Model& block : blocks)
    builder.add(block.separator, block.size, block.raw_bytes, block.bounds);
  std::string out;
  builder.finish(out, rows, columns);
  EXPECT_EQ(builder.blocks(), 0u);
  return out;
}

TEST(IndexPartition, FindsWhatALinearSearchFinds) {
  for (const uint64_t seed : test_seeds(300)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string shared(random.below(20), 'p');
    const std::vector<Model> blocks = random_blocks(random, shared);
    const std::string contents = encode(blocks);
    IndexPartition part;
    ASSERT_TRUE(part.open(contents, blocks.size(), kDataOffset));
    uint64_t offset = kDataOffset;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i > 0) {
        ASSERT_EQ(std::string(part.prefix()).append(part.separator_rest(i)), blocks[i].separator);
      }
      ASSERT_EQ(part.handle(i), (BlockHandle{offset, blocks[i].size}));
      ASSERT_EQ(part.raw_bytes(i), blocks[i].raw_bytes);
      ASSERT_EQ(part.bounds(i), blocks[i].bounds);
      offset += blocks[i].size;
    }
    for (int probe = 0; probe < 50; ++probe) {
      const std::string key =
          random_shared_key(random, random.one_in(3) ? shared + "\x01" : shared);
      size_t at = 0;
      size_t at_before = 0;
      for (size_t i = 1; i < blocks.size(); ++i) {
        if (blocks[i].separator <= key) at = i;
        if (blocks[i].separator < key) at_before = i;
      }
      ASSERT_EQ(part.find(key), at) << escape_bytes(key);
      ASSERT_EQ(part.find_before(key), at_before) << escape_bytes(key);
    }
  }
}

TEST(IndexPartition, ItsFiltersKnowWhatWasAdded) {
  FilterBuilder rows;
  FilterBuilder columns;
  Random random(3);
  std::vector<uint64_t> known;
  for (int i = 0; i < 500; ++i) known.push_back(random.next());
  for (const uint64_t hash : known) {
    rows.add(hash);
    columns.add(~hash);
  }
  const std::vector<Model> blocks = {{"", 100, 200, TimeBounds()}};
  const std::string contents = encode(blocks, rows.finish(10), columns.finish(10));
  IndexPartition part;
  ASSERT_TRUE(part.open(contents, 1, kDataOffset));
  int strangers = 0;
  for (const uint64_t hash : known) {
    ASSERT_TRUE(part.may_contain_row(hash));
    ASSERT_TRUE(part.may_contain_key(~hash));
    strangers += part.may_contain_row(random.next()) + part.may_contain_key(random.next());
  }
  EXPECT_LT(strangers, 50);
  const std::string without = encode(blocks);
  ASSERT_TRUE(part.open(without, 1, kDataOffset));
  EXPECT_TRUE(part.may_contain_row(1)) << "there is no filter";
  EXPECT_TRUE(part.may_contain_key(1));
}

// Wrong bytes with a valid checksum: no read outside of them (the copy has their exact size, so
// that AddressSanitizer reports one), and every position is within the bounds of a block.
TEST(IndexPartition, BytesThatAreWrongLeadNowhereElse) {
  for (const uint64_t seed : test_seeds(400)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<Model> blocks = random_blocks(random, std::string(random.below(9), 'p'));
    FilterBuilder rows;
    rows.add(seed);
    const std::string good = encode(blocks, rows.finish(10));
    std::vector<char> bad(good.begin(), good.end());
    for (uint64_t n = 1 + random.below(4); n > 0; --n)
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    if (random.one_in(4)) bad.resize(random.below(bad.size()));
    bad.shrink_to_fit();
    IndexPartition part;
    const bool opened = part.open(Bytes(bad.data(), bad.size()), blocks.size(), kDataOffset);
    if (!opened) continue;
    part.may_contain_row(random.next());
    part.may_contain_key(random.next());
    for (int probe = 0; probe < 20; ++probe) {
      const std::string key = random_shared_key(random, "pppp");
      ASSERT_LT(part.find(key), blocks.size());
      ASSERT_LT(part.find_before(key), blocks.size());
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const BlockHandle handle = part.handle(i);
      ASSERT_TRUE(handle.size == 0 || handle.end() <= kDataOffset + UINT32_MAX);
      part.bounds(i);
      if (i > 0) part.separator_rest(i);
    }
  }
}

TEST(IndexPartition, OfAnotherNumberOfBlocksItIsRefused) {
  const std::string contents =
      encode({{"", 100, 200, TimeBounds()}, {"b", 100, 200, TimeBounds()}});
  IndexPartition part;
  EXPECT_TRUE(part.open(contents, 2, kDataOffset));
  EXPECT_FALSE(part.open(contents, 3, kDataOffset));
  EXPECT_FALSE(part.open("", 0, kDataOffset));
}

}  // namespace
}  // namespace cellar::engine
