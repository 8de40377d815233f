#include "engine/sstable/index_section.h"

#include <gtest/gtest.h>

#include "engine/index/index_set.h"
#include "io/base/crc32c.h"
#include "tests/support/model_script.h"
#include "tests/support/random_entries.h"
#include "tests/support/seeds.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

std::vector<IndexSchema> two_indexes() {
  IndexSchema by_time;
  by_time.id = 4;
  by_time.name = "time";
  by_time.family = "f";
  by_time.parts = {cellar::IndexPart::time};
  IndexSchema by_qualifier;
  by_qualifier.id = 7;
  by_qualifier.name = "qualifier";
  by_qualifier.family = "g";
  by_qualifier.parts = {cellar::IndexPart::qualifier, cellar::IndexPart::time};
  return {by_time, by_qualifier};
}

// The entries that the index has of these cells.
EntryMap entries_of(const EntryMap& cells, const IndexSetRef& indexes, size_t wanted) {
  EntryMap entries;
  EntryMaker maker(indexes);
  for (const auto& [key, value] : cells) {
    ParsedKey parsed;
    EXPECT_TRUE(parse_key(key, parsed));
    maker.make(
        parsed, value,
        [&](size_t index, Bytes entry, Bytes expiry) {
          if (index == wanted) entries.emplace(entry, expiry);
        },
        [](size_t) {});
  }
  return entries;
}

std::string probe(Random& random, const EntryMap& entries) {
  if (entries.empty() || random.one_in(8)) return random_segment(random, 12);
  auto at = entries.begin();
  std::advance(at, static_cast<ptrdiff_t>(random.below(entries.size())));
  std::string key = at->first;
  if (random.one_in(3)) key.resize(random.below(key.size() + 1));
  if (random.one_in(3)) key += "x";
  return key;
}

TEST(IndexSection, WalksAsTheEntriesOfItsTablesCells) {
  size_t levels = 0;
  for (const uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TableFixture f(seed % 3 == 0 ? 4096 : 1u << 20);
    EntryMap cells;
    for (uint64_t n = random.below(1500); n > 0; --n) {
      const std::string key = random_key(random, CommitStamp{random.below(200)});
      cells[key] = random_value(random, key);
    }
    TableWriterOptions options = small_blocks(64 + static_cast<uint32_t>(random.below(100)));
    options.compression = random.one_in(2) ? Compression::lz4 : Compression::none;
    if (random.one_in(2)) options.part_bytes = 1 + random.below(1500);
    options.indexes = make_index_set(two_indexes());
    const IndexSetRef indexes = options.indexes;
    const TableMeta meta = f.write(cells, options);
    const auto reader = f.open(kBlob);
    ASSERT_EQ(reader->meta(), meta);
    ASSERT_EQ(meta.sections.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const EntryMap model = entries_of(cells, indexes, i);
      const IndexSection* section = meta.section_of((*indexes)[i].id);
      ASSERT_NE(section, nullptr);
      ASSERT_EQ(section->entries, model.size());
      levels = std::max<size_t>(levels, section->levels);
      if (model.empty()) {
        EXPECT_EQ(section->root.size, 0u);
        continue;
      }
      EXPECT_EQ(crc32c(f.store.bytes(kBlob).substr(section->offset, section->bytes())),
                section->checksum);
      SectionIterator it(*reader, *section);
      walk_against_model(
          it, model, random, 500, [&](Step s) { return f.finish(it, s); },
          [&] { return probe(random, model); });
    }
    // The table's own entries are where they were.
    TableIterator it(*reader);
    walk_against_model(
        it, cells, random, 100, [&](Step s) { return f.finish(it, s); },
        [&] { return random_key(random, CommitStamp{random.below(200)}); });
  }
  EXPECT_GE(levels, 3u) << "trees of several levels were walked";
}

// Short keys are within their strings: a tree that grows by a level must not refer to one that has
// moved.
TEST(IndexSection, ShortKeysMakeATreeOfManyLevels) {
  TableFixture f;
  IndexSchema by_time;
  by_time.id = 1;
  by_time.family = "f";
  by_time.qualifier = "q";
  by_time.parts = {cellar::IndexPart::time};
  EntryMap cells;
  for (int i = 0; i < 3000; ++i) cells.insert(cell_of("r" + std::to_string(i % 10), i));
  TableWriterOptions options = small_blocks(64);
  options.indexes = make_index_set({by_time});
  const IndexSetRef indexes = options.indexes;
  const TableMeta meta = f.write(cells, options);
  const auto reader = f.open(kBlob);
  const EntryMap model = entries_of(cells, indexes, 0);
  ASSERT_EQ(model.size(), 3000u);
  ASSERT_GE(meta.section_of(1)->levels, 4u);
  SectionIterator it(*reader, *meta.section_of(1));
  Step step = f.finish(it, it.seek(""));
  for (const auto& [key, value] : model) {
    ASSERT_EQ(step, Step::ready);
    ASSERT_EQ(it.key(), key);
    step = f.finish(it, it.next());
  }
  EXPECT_EQ(step, Step::end);
  for (const auto& [key, value] : model) {
    ASSERT_EQ(f.finish(it, it.seek(key)), Step::ready);
    ASSERT_EQ(it.key(), key);
  }
}

TEST(IndexSection, LeavesOutWhatIsPastTheOwnAge) {
  TableFixture f;
  EntryMap cells;
  for (int64_t i = 1; i <= 10; ++i) cells.insert(cell_of("r" + std::to_string(i), i * 1000));
  std::vector<IndexSchema> indexes = two_indexes();
  indexes[0].max_age_us = 4000;
  TableWriterOptions options = small_blocks();
  options.indexes = make_index_set(indexes);
  options.now_us = 9000;
  const TableMeta meta = f.write(cells, options);
  const IndexSection* section = meta.section_of(4);
  ASSERT_NE(section, nullptr);
  EXPECT_EQ(section->entries, 6u) << "an age of 4000 is not past it";
  EXPECT_EQ(section->oldest_us, 5000);
  EXPECT_EQ(section->newest_us, 10'000);
  EXPECT_EQ(section->omitted_to_us, 4000);
  EXPECT_EQ(meta.section_of(7)->omitted_to_us, INT64_MIN);
  EXPECT_EQ(meta.section_of(5), nullptr);
}

TEST(IndexSection, EndsATableThatHasManyEntries) {
  TableFixture f;
  TableWriterOptions options = small_blocks(4096);
  options.indexes = make_index_set(two_indexes());
  auto out = f.world.block_on(f.loop, f.store.create(kBlob, 0, IoClass::flush));
  ASSERT_TRUE(out.has_value());
  TableWriter writer(options, std::move(*out));
  const std::string padding(4000, 'r');
  size_t rows = 0;
  while (!writer.is_full(1u << 30)) {
    const auto [key, value] = cell_of(padding + std::to_string(1'000'000 + rows++));
    writer.add(key, value);
    ASSERT_LT(rows, 10'000u);
  }
  EXPECT_GT(rows, 3'000u);
  ASSERT_TRUE(f.world.block_on(f.loop, writer.finish()).has_value());
  const auto reader = f.open(kBlob);
  EXPECT_EQ(reader->meta().section_of(4)->entries, rows);
}

// A damaged section is told; the cells of its table, and other sections, are read.
TEST(IndexSection, DamageIsTold) {
  TableFixture f(1);  // caches nothing
  EntryMap cells;
  for (int i = 0; i < 300; ++i) cells.insert(cell_of("r" + std::to_string(i), i * 1000));
  TableWriterOptions options = small_blocks(128);
  options.indexes = make_index_set(two_indexes());
  const TableMeta meta = f.write(cells, options);
  const IndexSection section = *meta.section_of(4);
  ASSERT_GE(section.levels, 2u);
  for (const uint64_t at : {section.offset + 3, section.root.offset + 2}) {
    const auto reader = f.open(kBlob);
    f.store.bytes(kBlob)[at] ^= 0x10;
    SectionIterator it(*reader, section);
    Step step = f.finish(it, it.seek(""));
    while (step == Step::ready) step = f.finish(it, it.next());
    ASSERT_EQ(step, Step::failed);
    EXPECT_EQ(it.error().code, Errc::data_loss);
    EXPECT_EQ(reader->damage(), nullptr) << "its cells can be merged";
    EXPECT_TRUE(reader->sections_are_damaged());
    EXPECT_FALSE(reader->tail_is_damaged());
    TableIterator rows(*reader);
    EXPECT_EQ(f.finish(rows, rows.seek("")), Step::ready);
    f.store.bytes(kBlob)[at] ^= 0x10;  // healed
  }
}

// A node that gives another last key than the block below it has: walks do not go astray.
TEST(IndexSection, NodesThatDisagreeWithTheirBlocksAreDamage) {
  TableFixture f(1);
  EntryMap cells;
  for (int i = 0; i < 40; ++i) cells.insert(cell_of("r" + std::to_string(i), i * 1000));
  TableWriterOptions options = small_blocks(512);
  options.compression = Compression::none;
  options.indexes = make_index_set(two_indexes());
  const IndexSection section = *f.write(cells, options).section_of(4);
  ASSERT_EQ(section.levels, 2u);
  std::string& bytes = f.store.bytes(kBlob);
  const BlockHandle root = section.root;
  std::string node = bytes.substr(root.offset, root.size - kBlockTrailerBytes);
  // The last leaf has the entry of the oldest cell, of row r0; the first leaf's last key is the
  // first one of the node.
  BlockReader reader;
  ASSERT_TRUE(reader.open(node));
  ASSERT_EQ(reader.seek_first(), BlockReader::Move::ready);
  const std::string last(reader.key());
  const size_t at = node.find(last);
  ASSERT_NE(at, std::string::npos);
  node[at + 7] = static_cast<char>(node[at + 7] - 1);
  std::string block;
  append_block(block, node, false, kBlob, root.offset);
  bytes.replace(root.offset, root.size, block);
  const auto table = f.open(kBlob);
  SectionIterator it(*table, section);
  Step step = f.finish(it, it.seek_before(std::string(20, '\xff')));
  size_t steps = 0;
  while (step == Step::ready && ++steps < 100) {
    const std::string key(it.key());
    step = f.finish(it, it.seek_before(key));
  }
  ASSERT_EQ(step, Step::failed);
  EXPECT_EQ(it.error().code, Errc::data_loss);
  EXPECT_TRUE(table->sections_are_damaged());
}

TEST(IndexSection, PlacesAreChecked) {
  TableFixture f;
  EntryMap cells;
  for (int i = 0; i < 100; ++i) cells.insert(cell_of("r" + std::to_string(i), i * 1000));
  TableWriterOptions options = small_blocks(128);
  options.indexes = make_index_set(two_indexes());
  const TableMeta good = f.write(cells, options);
  TableMeta meta = good;
  EXPECT_EQ(decode_table_meta(encode_table_meta(meta)).value(), meta);
  meta.sections[0].index = 0;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta = good;
  meta.sections[0].levels = 0;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta = good;
  meta.sections[0].entries = 0;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta = good;
  meta.sections[1] = {.index = 7, .root = {}, .entries = 1};
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta.sections[1].entries = 0;
  EXPECT_TRUE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta = good;
  meta.sections[0].levels = 1000;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
  meta = good;
  meta.sections[0].root = {};
  meta.sections[0].levels = 0;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value()) << "entries and no root";
  meta = good;
  meta.sections[0].root.offset = meta.sections[0].offset - 1;
  EXPECT_FALSE(decode_table_meta(encode_table_meta(meta)).has_value());
}

}  // namespace
}  // namespace cellar::engine
