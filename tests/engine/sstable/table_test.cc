#include <gtest/gtest.h>

#include "engine/iter/merging_iterator.h"
#include "engine/memtable/memtable.h"
#include "tests/support/model_script.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

EntryMap random_entries(Random& random, uint64_t most) {
  EntryMap entries;
  for (uint64_t n = random.below(most + 1); n > 0; --n) {
    const std::string key = random_key(random, CommitStamp{random.below(200)});
    entries[key] = random_value(random, key);
  }
  return entries;
}

TEST(Table, WalksAsTheMapItWasWrittenFrom) {
  for (const uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableFixture f(seed % 3 == 0 ? 4096 : 1u << 20);
    const EntryMap model = random_entries(random, 1500);
    TableWriterOptions options = small_blocks(128 + static_cast<uint32_t>(random.below(2000)));
    options.compression = random.one_in(2) ? Compression::lz4 : Compression::none;
    if (random.one_in(2)) options.part_bytes = 1 + random.below(1500);
    f.write(model, options);
    const auto reader = f.open(kBlob);
    TableIteratorOptions how;
    if (random.one_in(2)) how = TableIteratorOptions::for_compaction();
    TableIterator it(*reader, how);
    walk_against_model(
        it, model, random, 800, [&](Step s) { return f.finish(it, s); },
        [&] { return random_key(random, CommitStamp{random.below(200)}); });
  }
}

TEST(Table, MergedWithMemtablesAndOtherTablesWalksAsOneMap) {
  for (const uint64_t seed : test_seeds(25)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableFixture f(seed % 2 == 0 ? 8192 : 1u << 20);
    Memtable memtable;
    EntryMap model = random_entries(random, 300);
    for (const auto& [key, value] : model) memtable.add(key, value);
    MergingIterator merge;
    Memtable::Iterator newest = memtable.iterator();
    merge.add_borrowed(newest);
    std::vector<std::unique_ptr<TableReader>> readers;
    for (uint64_t t = 1; t <= 1 + random.below(4); ++t) {
      const EntryMap entries = random_entries(random, 500);
      TableWriterOptions options = small_blocks(300, BlobId{t});
      if (random.one_in(2)) options.part_bytes = 1 + random.below(1500);
      f.write(entries, options);
      model.insert(entries.begin(), entries.end());  // these are older: existing entries stay
      readers.push_back(f.open(BlobId{t}));
      merge.add(std::make_unique<TableIterator>(*readers.back()));
    }
    walk_against_model(
        merge, model, random, 800, [&](Step s) { return f.finish(merge, s); },
        [&] { return random_key(random, CommitStamp{random.below(200)}); });
    merge.clear();
  }
}

TEST(Table, MetaTellsWhatIsInside) {
  TableFixture f;
  EntryMap entries;
  entries.insert(cell_of("a", 5000, 7));
  entries.insert(cell_of("a", 2000, 9));
  entries.insert(cell_of("b", 9000, 8));
  std::string marker;
  append_row_delete(marker, "c", CommitStamp{11});
  entries[marker] = "";
  TableWriterOptions options = small_blocks();
  options.table = TableId{3};
  options.tablet = TabletId{4};
  options.tablet_start = "a";
  options.tablet_end = "x";
  options.run = 5;
  const TableMeta written = f.write(entries, options, {{"d", "e", CommitStamp{20}}});
  const auto reader = f.open(kBlob);
  EXPECT_EQ(reader->meta(), written);
  EXPECT_EQ(written.file_bytes, f.store.bytes(kBlob).size());
  EXPECT_EQ(written.entries, 4u);
  EXPECT_EQ(written.rows, 3u);
  EXPECT_EQ(written.cells, 3u);
  EXPECT_EQ(written.row_deletes, 1u);
  EXPECT_EQ(written.range_deletes, 1u);
  EXPECT_EQ(written.min_stamp, CommitStamp{7});
  EXPECT_EQ(written.max_stamp, CommitStamp{20});
  EXPECT_EQ(written.bounds.min_timestamp_us, 2000);
  EXPECT_EQ(written.bounds.max_timestamp_us, 9000);
  EXPECT_TRUE(written.bounds.has_deletes());
  EXPECT_EQ(written.smallest_key, entries.begin()->first);
  EXPECT_EQ(written.largest_key, marker);
  ASSERT_EQ(reader->range_deletes().size(), 1u);
  EXPECT_EQ(reader->range_deletes()[0], (RangeTombstone{"d", "e", CommitStamp{20}}));
  EXPECT_TRUE(reader->may_contain_row(row_hash(row_prefix("a"))));
  EXPECT_FALSE(reader->may_contain_row(row_hash(row_prefix("zebra"))));
  EXPECT_EQ(f.cache.charged_bytes(), reader->memory_bytes());
}

TEST(Table, MetaSurvivesItsEncodingAndUnknownFieldsAreSkipped) {
  TableMeta meta;
  meta.blob = BlobId{9};
  meta.file_bytes = 12345;
  meta.tablet_end = std::string("\0x", 2);
  meta.bounds.add_cell(5, 6);
  meta.compression = Compression::none;
  EXPECT_EQ(decode_table_meta(encode_table_meta(meta)).value(), meta) << "unknown columns";
  meta.columns = ColumnList();
  std::string key;
  append_cell(key, "r", "f", "q", 5, CommitStamp{1});
  ParsedKey parsed;
  ASSERT_TRUE(parse_key(key, parsed));
  meta.columns.add_entry(parsed);
  std::string encoded = encode_table_meta(meta);
  EXPECT_EQ(decode_table_meta(encoded).value(), meta);
  put_varint(encoded, 9999);
  put_bytes(encoded, "of a later version");
  EXPECT_EQ(decode_table_meta(encoded).value(), meta);
  EXPECT_FALSE(decode_table_meta(Bytes(encoded).substr(0, encoded.size() - 1)).has_value());
  // Each field in turn is missing: its tag is replaced by an unknown one.
  const std::string whole = encode_table_meta(meta);
  Reader in(whole);
  while (!in.at_end()) {
    const size_t at = whole.size() - in.remaining();
    const bool optional = whole[at] == 27 || whole[at] == 30;  // the profile, the columns
    std::string missing = whole;
    missing[at] = 100;
    EXPECT_EQ(decode_table_meta(missing).has_value(), optional) << int{whole[at]};
    (void)in.varint();
    (void)in.bytes();
  }
  EXPECT_FALSE(decode_table_meta(""));
}

TEST(Table, BoundsOfBlocksHoldWhatIsInThem) {
  Random random(5);
  TableFixture f;
  const EntryMap model = random_entries(random, 1500);
  f.write(model, small_blocks(200));
  const auto reader = f.open(kBlob);
  const TableIndex& index = reader->index();
  ASSERT_GT(index.blocks(), 10u);
  for (const auto& [key, value] : model) {
    ParsedKey parsed;
    ASSERT_TRUE(parse_key(key, parsed));
    const TimeBounds bounds = index.bounds(index.find(key));
    if (parsed.kind == EntryKind::cell) {
      ASSERT_LE(bounds.min_timestamp_us, parsed.timestamp_us);
      ASSERT_GE(bounds.max_timestamp_us, parsed.timestamp_us);
    } else {
      ASSERT_TRUE(bounds.has_deletes());
    }
  }
}

TEST(Table, AnOpenOneTakesSoMuchMemoryForEachByteStored) {
  TableFixture f(64u << 20);
  Random random(7);
  EntryMap entries;
  for (int i = 0; i < 60'000; ++i) {
    const std::string row = fmt::format("user{:028x}", random.next());
    std::string value(100, '\0');
    for (size_t at = 0; at < 50; ++at) value[at] = static_cast<char>(random.below(256));
    entries.insert(
        cell_of(row, 1'700'000'000'000'000 + i * 1000, 1'700'000'000'000'000'000u + i, value));
  }
  f.write(entries, small_blocks(4096));
  const auto reader = f.open(kBlob);
  const double blocks = static_cast<double>(reader->index().blocks());
  const double index = static_cast<double>(reader->index().memory_bytes()) / blocks;
  const double all = static_cast<double>(reader->memory_bytes());
  const double stored = static_cast<double>(reader->meta().data_bytes);
  std::printf("%.0f bytes of index a block, %.1f of the table for 1000 stored\n", index,
              all * 1000 / stored);
  EXPECT_LE(index, 72);
  EXPECT_LE(all / stored, 0.05);
}

TEST(Table, ARowsFirstEntryIsNeverLookedForInTheBlockBefore) {
  TableFixture f;
  EntryMap entries;
  for (int i = 0; i < 300; ++i) entries.insert(cell_of(fmt::format("row{:05}", i)));
  f.write(entries, small_blocks(200));
  const auto reader = f.open(kBlob);
  TableIterator it(*reader);
  for (int i = 0; i < 300; ++i) {
    const uint64_t before = f.loader.stats().read_blocks;
    ASSERT_EQ(f.finish(it, it.seek(row_prefix(fmt::format("row{:05}", i)))), Step::ready);
    ASSERT_LE(f.loader.stats().read_blocks, before + 1) << i;
  }
}

TEST(Table, WithoutEntriesStillCarriesItsRangeDeletes) {
  TableFixture f;
  f.write({}, small_blocks(), {{"a", "", CommitStamp{1}}});
  const auto reader = f.open(kBlob);
  TableIterator it(*reader);
  EXPECT_EQ(it.seek(""), Step::end);
  EXPECT_EQ(it.seek_before("z"), Step::end);
  EXPECT_EQ(reader->range_deletes().size(), 1u);
  EXPECT_EQ(reader->meta().max_stamp, CommitStamp{1});
}

TEST(Table, ALargeTailTakesASecondRead) {
  TableFixture f;
  EntryMap entries;
  for (int i = 0; i < 60000; ++i) entries.insert(cell_of(fmt::format("row{:07}", i)));
  TableWriterOptions options = small_blocks(4096);
  f.write(entries, options);
  const uint64_t before = f.store.reads();
  const auto reader = f.open(kBlob);
  EXPECT_EQ(f.store.reads() - before, 2u);
  EXPECT_EQ(reader->meta().entries, 60000u);
}

TEST(Table, ALargeValueGetsABlockOfItsOwn) {
  TableFixture f;
  EntryMap entries;
  entries.insert(cell_of("a"));
  entries.insert(cell_of("b", 1000, 1, std::string(3u << 20, 'L')));
  entries.insert(cell_of("c"));
  const TableMeta meta = f.write(entries, small_blocks(4096));
  EXPECT_EQ(meta.blocks, 3u);
  const auto reader = f.open(kBlob);
  TableIterator it(*reader);
  ASSERT_EQ(f.finish(it, it.seek(row_prefix("b"))), Step::ready);
  EXPECT_EQ(it.value(), entries.lower_bound(row_prefix("b"))->second);
}

TEST(TableWriter, AFailedWriteIsAnErrorAndTheBlobCanBeAbandoned) {
  TableFixture f;
  f.store.fail_writes_after(10);
  auto out = f.world.block_on(f.loop, f.store.create(kBlob, 0, IoClass::flush));
  TableWriter writer(small_blocks(), std::move(*out));
  const auto [key, value] = cell_of("a");
  writer.add(key, value);
  const auto meta = f.world.block_on(f.loop, writer.finish());
  ASSERT_FALSE(meta.has_value());
  EXPECT_EQ(meta.error().code, Errc::unavailable);
  ASSERT_TRUE(f.world.block_on(f.loop, writer.abandon()).has_value());
  EXPECT_EQ(f.store.open_writers(), 0u);
}

// Long qualifiers that compress well: the index outgrows the blocks, and a block of it has a bound.
TEST(TableWriter, IsFullWhenItsIndexIsLarge) {
  TableFixture f;
  auto out = f.world.block_on(f.loop, f.store.create(kBlob, 0, IoClass::flush));
  TableWriterOptions options;
  options.blob = kBlob;
  TableWriter writer(options, std::move(*out));
  std::string value;
  append_cell_value(value, "v");
  int rows = 0;
  while (rows < 20'000 && !writer.is_full(256u << 20)) {
    const std::string row = fmt::format("r{:08}", rows++);
    for (const char last : {'0', '1'}) {
      std::string key;
      append_cell(key, row, "f", std::string(kMaxQualifierBytes - 1, 'a') + last, 5,
                  CommitStamp{5});
      writer.add(key, value);
      if (writer.wants_flush()) ASSERT_TRUE(f.world.block_on(f.loop, writer.flush()));
    }
  }
  EXPECT_GT(rows, 1'000);
  EXPECT_LT(rows, 8'000);
  EXPECT_LT(writer.file_bytes(), 256u << 20);
  const auto meta = f.world.block_on(f.loop, writer.finish());
  ASSERT_TRUE(meta) << meta.error().to_string();
  EXPECT_TRUE(f.try_open(kBlob));
}

TEST(TableWriterDeathTest, KeysMustAscend) {
  TableFixture f;
  auto out = f.world.block_on(f.loop, f.store.create(kBlob, 0, IoClass::flush));
  TableWriter writer(small_blocks(), std::move(*out));
  const auto [key, value] = cell_of("a");
  writer.add(key, value);
  EXPECT_DEATH(writer.add(key, value), "after");
  EXPECT_DEATH(writer.add("nonsense", value), "malformed");
  ASSERT_TRUE(f.world.block_on(f.loop, writer.abandon()).has_value());
}

}  // namespace
}  // namespace cellar::engine
