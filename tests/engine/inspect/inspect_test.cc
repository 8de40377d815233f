#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "engine/export/export_encoder.h"
#include "engine/inspect/inspect_file.h"
#include "engine/model/mutation.h"
#include "engine/sstable/table_iterator.h"
#include "engine/sstable/table_writer.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/blob/local_blob_store.h"
#include "engine/store/log/local_log_store.h"
#include "io/loop/runtime.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

constexpr BlobId kBlob{0x400001a};

// A data directory in memory with real stores over it.
class InspectTest : public testing::Test {
 protected:
  // The example of FORMATS.md: two rows, a marker, a range delete, two blocks.
  void write_example(Compression compression, size_t part_bytes = 0,
                     const std::vector<IndexSchema>& indexes = {}) {
    LocalBlobStore store(fs);
    auto out = world.block_on(loop, store.create(kBlob, 0, IoClass::flush));
    ASSERT_TRUE(out.has_value());
    TableWriterOptions options;
    options.blob = kBlob;
    options.table = TableId{1};
    options.tablet = TabletId{2};
    options.tablet_end = "x";
    options.run = 3;
    options.compression = compression;
    options.block_bytes = indexes.empty() ? 96 : 48;
    options.part_bytes = part_bytes;
    options.indexes = make_index_set(indexes);
    TableWriter writer(options, std::move(*out));
    std::string key;
    std::string value;
    append_cell(key, "r1", "f", "q", 2000, CommitStamp{8});
    append_cell_value(value, "new");
    writer.add(key, value);
    key.clear();
    value.clear();
    append_cell(key, "r1", "f", "q", 1000, CommitStamp{7});
    append_cell_value(value, "old", 9000);
    writer.add(key, value);
    key.clear();
    append_row_delete(key, "r2", CommitStamp{9});
    writer.add(key, "");
    key.clear();
    value.clear();
    append_cell(key, "r2", "f", std::string(1, '\0'), 3000, CommitStamp{10});
    append_cell_value(value, std::string(40, 'z'));
    writer.add(key, value);
    writer.add_range_delete({"s", "t", CommitStamp{11}});
    ASSERT_TRUE(world.block_on(loop, writer.finish()).has_value());
  }

  // One with entries, one without.
  static std::vector<IndexSchema> two_indexes() {
    IndexSchema by_value;
    by_value.id = 4;
    by_value.name = "by_value";
    by_value.family = "f";
    by_value.qualifier = "q";
    by_value.parts = {cellar::IndexPart::value};
    IndexSchema by_time;
    by_time.id = 7;
    by_time.name = "by_time";
    by_time.family = "g";
    by_time.parts = {cellar::IndexPart::time};
    return {by_value, by_time};
  }

  // Changes the meta block, whose size must stay.
  void change_meta(const std::function<void(TableMeta&)>& change) {
    const std::string path = blob_path(kBlob);
    std::string bytes = *world.block_on(loop, read_file(fs, path));
    const auto footer = decode_table_footer(Bytes(bytes).substr(bytes.size() - kTableFooterBytes),
                                            kBlob, bytes.size());
    ASSERT_TRUE(footer.has_value());
    const BlockHandle at = footer->meta;
    const auto contents = read_block(Bytes(bytes).substr(at.offset, at.size), kBlob, at.offset);
    ASSERT_TRUE(contents);
    auto meta = decode_table_meta(*contents);
    ASSERT_TRUE(meta);
    change(*meta);
    std::string block;
    append_block(block, encode_table_meta(*meta), false, kBlob, at.offset);
    ASSERT_EQ(block.size(), at.size);
    bytes.replace(at.offset, at.size, block);
    ASSERT_TRUE(world.block_on(loop, replace_file(fs, path, bytes)));
  }

  // One row of three columns and a family delete: it gets a filter over columns.
  void write_wide_example() {
    LocalBlobStore store(fs);
    auto out = world.block_on(loop, store.create(kBlob, 0, IoClass::flush));
    ASSERT_TRUE(out.has_value());
    TableWriterOptions options;
    options.blob = kBlob;
    options.compression = Compression::none;
    TableWriter writer(options, std::move(*out));
    std::string key;
    append_family_delete(key, "r", "f", CommitStamp{9});
    writer.add(key, "");
    for (const char* qualifier : {"a", "b", "c"}) {
      key.clear();
      append_cell(key, "r", "f", qualifier, 1000, CommitStamp{8});
      std::string value;
      append_cell_value(value, "v");
      writer.add(key, value);
    }
    ASSERT_TRUE(world.block_on(loop, writer.finish()).has_value());
  }

  // Prints the file with the inspector; problems_ counts the problems found.
  std::string inspect(const std::string& path, DumpForm form = DumpForm::text) {
    std::ostringstream out;
    const auto dump = make_dump(form, out);
    DumpOptions options;
    options.entries = true;
    options.indexes = &indexes_;
    const auto done = world.block_on(loop, inspect_file(fs, path, options, *dump));
    problems_ = dump->problems();
    if (!done) return done.error().to_string();
    return out.str();
  }

  // What `dump --row row` prints of the file.
  std::string find_row(const std::string& path, const std::string& row) {
    std::ostringstream out;
    const auto dump = make_dump(DumpForm::text, out);
    const auto entries = only_entries(*dump);
    DumpOptions options;
    options.entries = true;
    options.filter.row = row;
    options.indexes = &indexes_;
    EXPECT_TRUE(world.block_on(loop, inspect_file(fs, path, options, *entries))) << path;
    return out.str();
  }

  // An entry with one cell of `bytes`, on disk when this returns.
  void append_entry(Log& log, size_t bytes) {
    Mutation set;
    set.family = "f";
    set.qualifier = "q";
    const std::string value(bytes, 'v');
    set.value = value;
    set.timestamp_us = 1000;
    std::string payload;
    encode_row_commit(payload, "row", std::span(&set, 1));
    LogAppend append;
    bool done = false;
    append.context = &done;
    append.done = [](LogAppend& a) { *static_cast<bool*>(a.context) = true; };
    const LogEntry entry{TabletId{1}, Epoch{1}, CommitStamp{77}, payload};
    ASSERT_TRUE(log.append(entry, append).has_value());
    ASSERT_TRUE(world.run_until([&] { return done; }));
  }

  SimWorld world;
  SimLoop& loop = world.add_loop();
  MemDisk disk;
  MemFs fs{loop.executor(), disk};
  size_t problems_ = 0;
  IndexesByTable indexes_;  // that the inspector knows
};

// CELLAR_REGENERATE=1 rewrites the file; review the difference.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(CELLAR_SOURCE_DIR) + "/tests/testdata/sstable/" + name;
  if (std::getenv("CELLAR_REGENERATE") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::stringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << "differs from " << path;
}

TEST_F(InspectTest, AListOfColumnsThatIsNotThatOfTheCellsIsAProblem) {
  write_wide_example();
  const std::string path = blob_path(kBlob);
  EXPECT_NE(inspect(path).find("columns f:a f:b f:c"), std::string::npos);
  EXPECT_EQ(problems_, 0u);
  std::string bytes = *world.block_on(loop, read_file(fs, path));
  const auto footer = decode_table_footer(Bytes(bytes).substr(bytes.size() - kTableFooterBytes),
                                          kBlob, bytes.size());
  ASSERT_TRUE(footer.has_value());
  const BlockHandle meta = footer->meta;
  std::string contents = bytes.substr(meta.offset, meta.size - kBlockTrailerBytes);
  const size_t at = contents.rfind('c');
  ASSERT_NE(at, std::string::npos);
  contents[at] = 'd';
  std::string block;
  append_block(block, contents, false, kBlob, meta.offset);
  ASSERT_EQ(block.size(), meta.size);
  bytes.replace(meta.offset, meta.size, block);
  ASSERT_TRUE(world.block_on(loop, replace_file(fs, path, bytes)));
  const std::string text = inspect(path);
  EXPECT_NE(text.find("lists columns f:a f:b f:d, but the cells have columns f:a f:b f:c"),
            std::string::npos)
      << text;
  EXPECT_EQ(problems_, 1u);
}

TEST_F(InspectTest, TheBytesOfATinyTableAreTheGoldenOnes) {
  write_example(Compression::none);
  expect_golden("tiny_table.txt", inspect(blob_path(kBlob)));
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, TheBytesOfATableOfAWideRowAreTheGoldenOnes) {
  write_wide_example();
  const std::string text = inspect(blob_path(kBlob));
  EXPECT_NE(text.find("filter over columns"), std::string::npos);
  expect_golden("wide_table.txt", text);
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, ACompressedTableIsPrintedUnpacked) {
  write_example(Compression::lz4);
  const std::string text = inspect(blob_path(kBlob));
  EXPECT_EQ(problems_, 0u);
  EXPECT_NE(text.find("unpacked"), std::string::npos) << text;
  EXPECT_NE(text.find("row delete \"r2\" stamp 9"), std::string::npos) << text;
}

TEST_F(InspectTest, EveryFlippedBitOfATableIsAProblem) {
  write_example(Compression::none);
  const std::string path = blob_path(kBlob);
  const size_t size = disk.read_all(path).value().size();
  for (size_t byte = 0; byte < size; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto mask = static_cast<uint8_t>(1 << bit);
      ASSERT_TRUE(disk.corrupt(path, byte, mask).has_value());
      const std::string text = inspect(path, DumpForm::problems_only);
      ASSERT_GT(problems_, 0u) << "bit " << bit << " of byte " << byte << "\n" << text;
      ASSERT_TRUE(disk.corrupt(path, byte, mask).has_value());
    }
  }
}

TEST_F(InspectTest, AWholeTableIsSilentUnderVerifyAndJsonIsOneObjectALine) {
  write_example(Compression::lz4);
  EXPECT_EQ(inspect(blob_path(kBlob), DumpForm::problems_only),
            "blob/000000000400001a.sst: table\n");
  const std::string json = inspect(blob_path(kBlob), DumpForm::json);
  std::istringstream lines(json);
  std::string line;
  size_t n = 0;
  while (std::getline(lines, line)) {
    ++n;
    EXPECT_EQ(line.front(), '{');
    EXPECT_EQ(line.back(), '}');
  }
  EXPECT_GT(n, 10u);
}

TEST_F(InspectTest, ALogSegmentIsPrintedAndItsDamageFound) {
  TrustedClock clock(world.clock());
  Runtime runtime{loop.executor(), loop.timers(), clock, world.random()};
  LogOptions log_options;
  log_options.segment_bytes = 64u << 10;
  LocalLogStore logs(fs, runtime, log_options);
  auto log = world.block_on(loop, logs.create(LogId{5}));
  ASSERT_TRUE(log.has_value()) << log.error().to_string();
  std::string payload;
  Mutation set;
  set.family = "f";
  set.qualifier = "q";
  set.value = "hello";
  set.timestamp_us = 1000;
  encode_row_commit(payload, "row", std::span(&set, 1));
  LogAppend append;
  bool done = false;
  append.context = &done;
  append.done = [](LogAppend& a) { *static_cast<bool*>(a.context) = true; };
  const LogEntry entry{TabletId{1}, Epoch{1}, CommitStamp{77}, payload};
  ASSERT_TRUE((*log)->append(entry, append).has_value());
  ASSERT_TRUE(world.run_until([&] { return done; }));
  ASSERT_TRUE(world.block_on(loop, (*log)->seal()).has_value());
  log->reset();
  std::string path;
  for (const std::string& file : disk.all_files()) {
    if (file.ends_with("-00000000.seg")) path = file;
  }
  const std::string text = inspect(path);
  EXPECT_EQ(problems_, 0u) << text;
  EXPECT_NE(text.find("tablet 1 epoch 1 stamp 77"), std::string::npos) << text;
  EXPECT_NE(text.find("cell \"row\" f:\"q\" at 1000 stamp 77 = \"hello\""), std::string::npos)
      << text;
  ASSERT_TRUE(disk.corrupt(path, 4096 + 30, 1).has_value());
  (void)inspect(path, DumpForm::problems_only);
  EXPECT_EQ(problems_, 1u);
}

// Neither file alone shows it.
TEST_F(InspectTest, AnEntryInTwoSegmentsIsToldOfWhereARowIsSought) {
  TrustedClock clock(world.clock());
  Runtime runtime{loop.executor(), loop.timers(), clock, world.random()};
  LogOptions log_options;
  log_options.segment_bytes = 64u << 10;
  LocalLogStore logs(fs, runtime, log_options);
  auto log = world.block_on(loop, logs.create(LogId{5}));
  ASSERT_TRUE(log.has_value()) << log.error().to_string();
  for (int i = 0; i < 2; ++i) append_entry(**log, 30'000);
  ASSERT_TRUE(world.block_on(loop, (*log)->seal()).has_value());
  log->reset();
  const std::string first = find_row("log/0000000000000005-00000000.seg", "row");
  const std::string second = find_row("log/0000000000000005-00000001.seg", "row");
  EXPECT_NE(first.find("an entry that goes on in the next segment is not shown"), first.npos);
  EXPECT_NE(second.find("an entry that began in the segment before is not shown"), second.npos);
  // It is no news to a verification.
  const std::string whole = inspect("log/0000000000000005-00000000.seg", DumpForm::problems_only);
  EXPECT_EQ(whole.find("is not shown"), whole.npos) << whole;
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, ARowOfAnExportIsFoundAndItsDescriptionIsHarmless) {
  ExportEncoder out;
  std::string file = out.begin("{\"table\":\"t\x1b]0;x\x07\xc2\x9b\"}");
  for (const char* row : {"a", "b"}) {
    out.begin_row(row);
    out.add({"f", "q", 2000, std::nullopt, row});
    out.end_row();
  }
  file += out.finish();
  ASSERT_TRUE(disk.write_all("t.cellar", file).has_value());
  const std::string found = find_row("t.cellar", "b");
  EXPECT_NE(found.find("row \"b\": 1 cells"), found.npos) << found;
  EXPECT_NE(found.find("f:\"q\" at 2000 = \"b\""), found.npos) << found;
  EXPECT_EQ(found.find("\"a\""), found.npos) << found;
  const std::string all = inspect("t.cellar");
  EXPECT_EQ(problems_, 0u) << all;
  EXPECT_NE(all.find(R"({"table":"t\x1b]0;x\x07\xc2\x9b"})"), all.npos) << all;
}

// One part for each of its two blocks.
TEST_F(InspectTest, ATableWithPartsIsShownByteForByte) {
  write_example(Compression::none, 1);
  expect_golden("parts_table.txt", inspect(blob_path(kBlob)));
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, ATableWithSectionsIsShownByteForByte) {
  indexes_[1] = two_indexes();
  write_example(Compression::none, 0, two_indexes());
  expect_golden("index_table.txt", inspect(blob_path(kBlob)));
  EXPECT_EQ(problems_, 0u);
  indexes_.clear();
  const std::string unknown = inspect(blob_path(kBlob));
  EXPECT_NE(unknown.find("index 4, leaf"), std::string::npos) << unknown;
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, EveryFlippedBitOfATableWithSectionsIsAProblem) {
  for (const size_t part_bytes : {0, 1}) {
    write_example(Compression::none, part_bytes, two_indexes());
    const std::string path = blob_path(kBlob);
    const std::string whole = inspect(path, DumpForm::problems_only);
    EXPECT_EQ(problems_, 0u) << whole;
    const size_t size = disk.read_all(path).value().size();
    for (size_t byte = 0; byte < size; ++byte) {
      const auto mask = static_cast<uint8_t>(1 << byte % 8);
      ASSERT_TRUE(disk.corrupt(path, byte, mask).has_value());
      const std::string text = inspect(path, DumpForm::problems_only);
      ASSERT_GT(problems_, 0u) << "byte " << byte << "\n" << text;
      ASSERT_TRUE(disk.corrupt(path, byte, mask).has_value());
    }
    ASSERT_TRUE(world.block_on(loop, fs.remove(path)));
  }
}

// Entries and cells must correspond.
TEST_F(InspectTest, EntriesThatAreNotThoseOfTheCellsAreProblems) {
  write_example(Compression::none, 0, two_indexes());
  const std::string path = blob_path(kBlob);
  indexes_[1] = two_indexes();
  indexes_[1][0].parts = {cellar::IndexPart::time};
  std::string text = inspect(path, DumpForm::problems_only);
  EXPECT_NE(text.find("index 4 'by_value': an entry is malformed"), std::string::npos) << text;
  indexes_[1] = two_indexes();
  indexes_[1][1].family = "f";
  text = inspect(path, DumpForm::problems_only);
  EXPECT_NE(text.find("index 7 'by_time': 3 cells have no entry, the first of them is in data "
                      "block 0"),
            std::string::npos)
      << text;
  EXPECT_EQ(problems_, 1u) << text;
  indexes_[1] = two_indexes();
  indexes_[1][0].family = "g";
  text = inspect(path, DumpForm::problems_only);
  EXPECT_NE(text.find("\"r1\" g:\"q\" at 2000 is of no cell of the table that should have it"),
            std::string::npos)
      << text;
  EXPECT_EQ(problems_, 2u) << text;
}

TEST_F(InspectTest, FactsAboutASectionThatAreNotTrueAreProblems) {
  const auto told = [this](const std::function<void(IndexSection&)>& change) {
    write_example(Compression::none, 0, two_indexes());
    change_meta([&](TableMeta& meta) { change(meta.sections[0]); });
    std::string text = inspect(blob_path(kBlob), DumpForm::problems_only);
    EXPECT_TRUE(world.block_on(loop, fs.remove(blob_path(kBlob))));
    EXPECT_EQ(problems_, 1u) << text;
    return text.substr(std::min(text.find("PROBLEM"), text.size()));
  };
  indexes_[1] = two_indexes();
  EXPECT_EQ(told([](IndexSection& s) { ++s.entries; }),
            "PROBLEM: index 4 'by_value': the meta block tells of 3 entries, 2 are there\n");
  EXPECT_EQ(told([](IndexSection& s) { ++s.skipped; }),
            "PROBLEM: index 4 'by_value': the meta block tells of 1 cells without an int64, there "
            "are 0\n");
  EXPECT_EQ(told([](IndexSection& s) { s.checksum ^= 1; }),
            "PROBLEM: index 4 'by_value': its checksum is not that in the meta block\n");
  EXPECT_EQ(
      told([](IndexSection& s) { s.oldest_us = 3; }),
      "PROBLEM: index 4 'by_value': the meta block tells of times 3 to 2000, the entries have "
      "1000 to 2000\n");
  EXPECT_EQ(told([](IndexSection& s) { s.omitted_to_us = 1000; }),
            "PROBLEM: index 4 'by_value': entry \"old\" of \"r1\" f:\"q\" at 1000 expires 9000 is "
            "of no cell of the table that should have it\n");
}

TEST_F(InspectTest, EntriesOfARowAreFoundInSections) {
  indexes_[1] = two_indexes();
  write_example(Compression::lz4, 0, two_indexes());
  EXPECT_NE(find_row(blob_path(kBlob), "r1").find("entry \"new\" of \"r1\""), std::string::npos);
  EXPECT_EQ(find_row(blob_path(kBlob), "r2").find("entry \"new\" of \"r1\""), std::string::npos);
}

TEST_F(InspectTest, ATableOfZstandardIsShownWithItsDictionary) {
  LocalBlobStore store(fs);
  auto out = world.block_on(loop, store.create(kBlob, 0, IoClass::flush));
  ASSERT_TRUE(out.has_value());
  TableWriterOptions options;
  options.blob = kBlob;
  options.compression = Compression::zstd;
  options.block_bytes = 512;
  TableWriter writer(options, std::move(*out));
  for (int i = 0; i < 1000; ++i) {
    std::string key;
    std::string value;
    append_cell(key, fmt::format("row {:05}", i), "f", "q", 2000, CommitStamp{8});
    append_cell_value(value,
                      fmt::format(R"({{"number":{},"text":"what stands in every row"}})", i));
    writer.add(key, value);
  }
  ASSERT_TRUE(world.block_on(loop, writer.finish()).has_value());
  const std::string shown = inspect(blob_path(kBlob));
  EXPECT_EQ(problems_, 0u) << shown;
  for (const char* part : {"(zstd; offsets in the", "(zstd with dictionary; offsets in the",
                           "dictionary (", "compression zstd where it paid, dictionary at "}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part;
  }
  (void)inspect(blob_path(kBlob), DumpForm::problems_only);
  EXPECT_EQ(problems_, 0u);
}

TEST_F(InspectTest, AFileOfNoneOfTheKindsIsRefused) {
  ASSERT_TRUE(disk.write_all("notes.txt", "hello world, more").has_value());
  EXPECT_NE(inspect("notes.txt").find("INVALID_ARGUMENT"), std::string::npos);
}

TEST_F(InspectTest, ATableWrittenThroughTheLocalStoreIsReadThroughIt) {
  write_example(Compression::lz4);
  LocalBlobStore store(fs);
  BlockCache cache(1u << 20);
  BlockLoader loader(loop.executor(), cache);
  auto blob = world.block_on(loop, store.open(kBlob));
  ASSERT_TRUE(blob.has_value());
  auto reader = world.block_on(loop, TableReader::open(std::move(*blob), loader));
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  struct Waiter final : BlockWaiter {
    void block_done() override {}
  } waiter;
  TableIterator it(**reader);
  size_t seen = 0;
  Step step = it.seek("");
  while (step == Step::ready || step == Step::blocked) {
    if (step == Step::ready) {
      ++seen;
      step = it.next();
      continue;
    }
    std::vector<BlockRequest*> requests;
    it.collect(requests);
    requests[0]->load(waiter);
    world.run_until_idle();
    step = it.resume();
  }
  EXPECT_EQ(step, Step::end);
  EXPECT_EQ(seen, 4u);
}

}  // namespace
}  // namespace cellar::engine
