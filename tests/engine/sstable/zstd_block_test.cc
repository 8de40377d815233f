// Data blocks compressed by Zstandard: where it pays and where it does not, with and without a
// dictionary, and bytes that only look like such a block.
#include <gtest/gtest.h>
#include <zstd.h>

#include "engine/sstable/block_packer.h"
#include "engine/sstable/zstd_codec.h"
#include "io/base/coding.h"
#include "tests/support/model_script.h"
#include "tests/support/seeds.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

constexpr BlobId kId{7};

// Similar values, like the events of one program.
std::string event(Random& random, int i) {
  static constexpr const char* kKinds[] = {"login", "logout", "purchase", "search", "failure"};
  return fmt::format(
      R"({{"kind":"{}","user":{},"session":"{:016x}","client":"android/{}.{}","n":{}}})",
      kKinds[random.below(5)], random.below(100'000), random.next(), random.below(9),
      random.below(9), i);
}

EntryMap events(int n) {
  Random random(5);
  EntryMap entries;
  for (int i = 0; i < n; ++i) {
    entries.insert(cell_of(fmt::format("device/{:06}", i), 1000 + i, 1 + i, event(random, i)));
  }
  return entries;
}

EntryMap noise(int n) {
  Random random(6);
  EntryMap entries;
  for (int i = 0; i < n; ++i) {
    std::string value(900, '\0');
    for (char& c : value) c = static_cast<char>(random.next());
    entries.insert(cell_of(fmt::format("{:06}", i), 1000, 1, value));
  }
  return entries;
}

TableWriterOptions packed_by(Compression compression, uint32_t block_bytes = 1024) {
  TableWriterOptions options = small_blocks(block_bytes);
  options.compression = compression;
  return options;
}

EntryMap read_all(TableFixture& f, TableReader& reader,
                  TableIteratorOptions how = TableIteratorOptions()) {
  TableIterator it(reader, how);
  EntryMap seen;
  Step step = f.finish(it, it.seek(""));
  for (; step == Step::ready; step = f.finish(it, it.next())) seen.emplace(it.key(), it.value());
  CHECK(step == Step::end, "{}", it.error().to_string());
  return seen;
}

std::array<size_t, 4> blocks_by_type(const TableFixture& f, const TableReader& reader) {
  std::array<size_t, 4> counts{};
  const Bytes all = const_cast<TableFixture&>(f).store.bytes(reader.id());
  for (size_t i = 0; i < reader.index().blocks(); ++i) {
    const BlockHandle at = reader.index().handle(i);
    ++counts.at(static_cast<size_t>(all[at.end() - kBlockTrailerBytes]));
  }
  return counts;
}

TEST(ZstdTable, IsReadAsItWasWrittenAndTakesItsDictionaryAlong) {
  TableFixture f;
  const EntryMap entries = events(3000);
  TableWriterOptions other = packed_by(Compression::lz4);
  other.blob = BlobId{9};
  const TableMeta lz4 = f.write(entries, other);
  const TableMeta meta = f.write(entries, packed_by(Compression::zstd));
  EXPECT_LT(meta.data_bytes * 4, lz4.data_bytes * 3);
  EXPECT_EQ(meta.compression, Compression::zstd);
  ASSERT_GT(meta.dictionary.size, 0u);
  const auto reader = f.open(kBlob);
  EXPECT_EQ(reader->meta().dictionary, meta.dictionary);
  const auto counts = blocks_by_type(f, *reader);
  EXPECT_GT(counts[2], 10u);
  EXPECT_GT(counts[3], reader->index().blocks() / 2);
  EXPECT_EQ(read_all(f, *reader), entries);
  EXPECT_EQ(read_all(f, *reader, TableIteratorOptions::for_compaction()), entries);
  EXPECT_TRUE(check_table_header(Bytes(f.store.bytes(kBlob)).substr(0, kTableHeaderBytes), kBlob));
  EXPECT_GT(f.cache.charged_bytes(), reader->memory_bytes()) << "the context is counted";
}

TEST(ZstdTable, OfLz4HasNoBlockOfZstandard) {
  TableFixture f;
  f.write(events(500), packed_by(Compression::lz4));
  const auto reader = f.open(kBlob);
  const auto counts = blocks_by_type(f, *reader);
  EXPECT_EQ(counts[2] + counts[3], 0u);
  EXPECT_EQ(reader->meta().compression, Compression::lz4);
}

TEST(ZstdTable, WhereItDoesNotPayBlocksAreNotPackedByIt) {
  TableFixture f;
  const TableMeta meta = f.write(noise(300), packed_by(Compression::zstd, 4096));
  EXPECT_EQ(meta.dictionary.size, 0u);
  const auto reader = f.open(kBlob);
  EXPECT_EQ(blocks_by_type(f, *reader)[0], reader->index().blocks());
  EXPECT_EQ(read_all(f, *reader), noise(300));
}

// Trials repeat: some 130 blocks that no codec packs come first.
TEST(ZstdTable, ItsFirstRowsDoNotDecideForTheOthers) {
  TableFixture f;
  EntryMap entries = noise(150);
  Random random(8);
  while (entries.size() < 24'000) {
    const auto n = static_cast<int>(entries.size());
    entries.insert(cell_of(fmt::format("device/{:06}", n), 1000, 1, event(random, n)));
  }
  f.write(entries, packed_by(Compression::zstd));
  const auto reader = f.open(kBlob);
  const size_t blocks = reader->index().blocks();
  const auto counts = blocks_by_type(f, *reader);
  ASSERT_GT(blocks, BlockPacker::kTrialPeriod + 200);
  EXPECT_GT(counts[2] + counts[3], blocks - BlockPacker::kTrialPeriod - 50);
  EXPECT_EQ(read_all(f, *reader), entries);
}

TEST(ZstdTable, SmallOnesHaveNoDictionary) {
  TableFixture f;
  const EntryMap entries = events(200);
  const TableMeta meta = f.write(entries, packed_by(Compression::zstd));
  ASSERT_LT(meta.blocks, 60u);
  EXPECT_EQ(meta.dictionary.size, 0u);
  EXPECT_EQ(read_all(f, *f.open(kBlob)), entries);
}

TEST(ZstdTable, AReaderThatIsClosedTakesTheDictionaryOnlyFromThoseWhoComeLater) {
  TableFixture f;
  const EntryMap entries = events(3000);
  f.write(entries, packed_by(Compression::zstd));
  auto first = f.open(kBlob);
  const auto second = f.open(kBlob);
  first.reset();
  EXPECT_EQ(read_all(f, *second), entries);
}

TEST(ZstdTable, RandomEntriesWalkAsTheMapTheyAre) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableFixture f(seed % 2 == 0 ? 4096 : 1u << 20);
    EntryMap entries;
    for (uint64_t n = random.below(4000); n > 0; --n) {
      const auto row = static_cast<int>(random.below(5000));
      std::string value = event(random, row);
      if (random.one_in(50)) value += std::string(random.below(100'000), 'x');
      entries.insert(cell_of(fmt::format("{:05}", row), static_cast<int64_t>(random.below(9)) + 1,
                             1 + random.below(50), value));
    }
    f.write(entries, packed_by(Compression::zstd, 128 + static_cast<uint32_t>(random.below(5000))));
    EXPECT_EQ(read_all(f, *f.open(kBlob)), entries);
  }
}

TEST(ZstdTable, AFlippedBitIsFoundWhereverItIs) {
  TableFixture f;
  const EntryMap entries = events(1500);
  f.write(entries, packed_by(Compression::zstd));
  const std::string good = f.store.bytes(kBlob);
  const BlockHandle dictionary = f.open(kBlob)->meta().dictionary;
  ASSERT_GT(dictionary.size, 0u);
  Random random(1);
  std::vector<uint64_t> places;
  for (int i = 0; i < 150; ++i) {
    places.push_back(kTableHeaderBytes + random.below(good.size() - kTableHeaderBytes));
    places.push_back(dictionary.offset + random.below(dictionary.size));
  }
  for (const uint64_t place : places) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ (1 << random.below(8)));
    f.store.put(kBlob, bad);
    f.cache.set_budget(0);
    f.cache.set_budget(1u << 20);
    auto reader = f.try_open(kBlob);
    Error error;
    if (reader) {
      TableIterator it(**reader);
      Step step = f.finish(it, it.seek(""));
      while (step == Step::ready) step = f.finish(it, it.next());
      ASSERT_EQ(step, Step::failed) << place;
      error = it.error();
    } else {
      error = reader.error();
    }
    ASSERT_TRUE(error.code == Errc::data_loss || error.code == Errc::failed_precondition)
        << error.to_string();
  }
}

// ---- contents that this program never writes: bytes with a valid checksum

std::string stored(BlockType type, Bytes payload) {
  std::string out(payload);
  finish_block(out, 0, type, kId, 4096);
  return out;
}
std::string frame_of(Bytes raw) {
  std::string frame(ZSTD_compressBound(raw.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), 1));
  return frame;
}

TEST(ZstdBlock, IsUnpackedWithinItsBoundsOnly) {
  const std::string raw(kMaxZstdBlockBytes, 'x');
  EXPECT_EQ(read_block(stored(BlockType::zstd, frame_of(raw)), kId, 4096).value(), raw);
  const auto expect_refused = [](const std::string& block, const char* what) {
    const auto read = read_block(block, kId, 4096);
    ASSERT_FALSE(read) << what;
    EXPECT_EQ(read.error().code, Errc::data_loss) << what;
  };
  expect_refused(stored(BlockType::zstd, frame_of(raw + "x")), "larger than any block");
  expect_refused(stored(BlockType::zstd, frame_of(std::string(64u << 20, '\0'))), "a bomb");
  expect_refused(stored(BlockType::zstd, ""), "nothing");
  expect_refused(stored(BlockType::zstd, "no frame at all"), "no frame");
  expect_refused(stored(BlockType::zstd, frame_of("abc") + frame_of("def")), "two frames");
  expect_refused(stored(static_cast<BlockType>(4), frame_of("abc")), "a type that is none");
  // A frame without its content size: it was made as a stream.
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> c(ZSTD_createCCtx(), ZSTD_freeCCtx);
  std::string frame(1000, '\0');
  ZSTD_CCtx_setParameter(c.get(), ZSTD_c_contentSizeFlag, 0);
  frame.resize(ZSTD_compress2(c.get(), frame.data(), frame.size(), "abcabcabc", 9));
  expect_refused(stored(BlockType::zstd, frame), "no size");
}

TEST(ZstdBlock, OfAnotherSizeThanWasSaidIsRefused) {
  ZstdUnpacker unpacker;
  std::string into(16, '.');
  const std::string frame = frame_of("abc");
  EXPECT_TRUE(unpacker.unpack(frame, Bytes(), into.data(), 3));
  EXPECT_FALSE(unpacker.unpack(frame, Bytes(), into.data(), 2));
  EXPECT_FALSE(unpacker.unpack(frame, Bytes(), into.data(), 4));
  EXPECT_EQ(into.substr(3), std::string(13, '.'));
}

TEST(ZstdBlock, MalformedFramesAreDamageAndNeverMore) {
  Random random(9);
  std::string raw;
  for (int i = 0; i < 40; ++i) raw += event(random, i);
  std::string dictionary;
  for (int i = 0; i < 20; ++i) dictionary += event(random, i);
  ZstdPacker packer;
  packer.set_dictionary(dictionary);
  for (const bool with_dictionary : {false, true}) {
    std::string good(raw.size(), '\0');
    good.resize(packer.pack(raw, good.data(), good.size(), with_dictionary));
    const BlockType type = with_dictionary ? BlockType::zstd_dictionary : BlockType::zstd;
    EXPECT_EQ(read_block(stored(type, good), kId, 4096, dictionary).value(), raw);
    for (int i = 0; i < 3000; ++i) {
      std::string bad = good;
      for (uint64_t n = 1 + random.below(4); n > 0; --n) {
        bad[random.below(bad.size())] = static_cast<char>(random.next());
      }
      if (random.one_in(4)) bad.resize(random.below(bad.size()));
      const auto read = read_block(stored(type, bad), kId, 4096, dictionary);
      if (read) {  // the frame has no checksum: the flip may give another valid frame
        EXPECT_LE(read->size(), kMaxZstdBlockBytes);
      } else {
        EXPECT_EQ(read.error().code, Errc::data_loss);
      }
    }
  }
  // With a missing or wrong dictionary: an error or other bytes, never a crash.
  std::string packed(raw.size(), '\0');
  packed.resize(packer.pack(raw, packed.data(), packed.size(), true));
  EXPECT_NE(read_block(stored(BlockType::zstd_dictionary, packed), kId, 4096), raw);
}

TEST(ZstdBlock, ADictionaryIsBytesAndNoneThatWasTrained) {
  std::string trained("\x37\xa4\x30\xec", 4);
  trained += std::string(100, 'x');
  EXPECT_FALSE(can_be_dictionary(trained));
  EXPECT_FALSE(can_be_dictionary(""));
  EXPECT_FALSE(can_be_dictionary(std::string(kMaxDictionaryBytes + 1, 'x')));
  EXPECT_TRUE(can_be_dictionary("x"));
}

TEST(ZstdBlock, LargeBlocksStayWithLz4) {
  BlockPacker packer(Compression::zstd);
  std::string out;
  packer.append(out, std::string(kMaxZstdBlockBytes + 1, 'x'), kId, 0);
  EXPECT_EQ(check_block(out, kId, 0)->type, BlockType::lz4);
  const size_t at = out.size();
  packer.append(out, std::string(kMaxZstdBlockBytes, 'x'), kId, at);
  EXPECT_EQ(check_block(Bytes(out).substr(at), kId, at)->type, BlockType::zstd);
}

}  // namespace
}  // namespace cellar::engine
