// Tables whose index and filters are partitioned: the device reads of their readers.
#include <gtest/gtest.h>

#include "engine/read/run_source.h"
#include "tests/support/table_fixture.h"

namespace cellar::engine {
namespace {

constexpr int kRows = 4000;

class TableParts : public testing::Test {
 protected:
  static std::string row(int i) { return fmt::format("row{:06}", i); }
  static TableWriterOptions in_parts(size_t part_bytes = 1000) {
    TableWriterOptions options = small_blocks(512);
    options.part_bytes = part_bytes;
    return options;
  }
  // One cell per row, each with its own time.
  void fill(const TableWriterOptions& options, int step = 1) {
    for (int i = 0; i < kRows; i += step)
      entries_.insert(cell_of(row(i), 1000 * i, 1, std::string(40, 'v')));
    f_.write(entries_, options);
    reader_ = f_.open(options.blob);
  }
  const TopLevelIndex& top_index() const { return *reader_->top_index(); }
  uint64_t reads() const { return f_.loader.stats().reads; }
  uint64_t parts_bytes() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < top_index().parts(); ++i) sum += top_index().handle(i).size;
    return sum;
  }
  // Reads one row like a point read.
  Step read_row(Bytes key) {
    const std::string prefix = row_prefix(key);
    RowProbe probe;
    probe.aim(prefix);
    if (!reader_->may_contain(probe)) return Step::end;
    TableIteratorOptions options;
    options.probe = &probe;
    TableIterator it(*reader_, options);
    return f_.finish(it, it.seek(prefix));
  }
  size_t walk(TableIterator& it) {
    size_t entries = 0;
    for (Step step = f_.finish(it, it.seek("")); step == Step::ready;
         step = f_.finish(it, it.next())) {
      ++entries;
    }
    return entries;
  }

  TableFixture f_;
  std::map<std::string, std::string> entries_;
  std::unique_ptr<TableReader> reader_;
};

TEST_F(TableParts, AnOpenTableKeepsItsOutlineAlone) {
  fill(small_blocks(512, BlobId{7}));
  const size_t whole = reader_->memory_bytes();
  reader_.reset();
  fill(in_parts(8 * 1024));
  EXPECT_GT(top_index().parts(), 2u);
  EXPECT_TRUE(reader_->footer().index_in_parts);
  EXPECT_EQ(reader_->blocks(), reader_->meta().blocks);
  EXPECT_LT(reader_->memory_bytes() * 5, whole) << "what describes it is as large in both";
  EXPECT_EQ(f_.cache.charged_bytes(), reader_->memory_bytes());
}

TEST_F(TableParts, APointReadAsksForAPartAndABlockAndThenForABlock) {
  fill(in_parts());
  ASSERT_GT(top_index().parts(), 20u);
  EXPECT_EQ(read_row(row(2000)), Step::ready);
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(read_row(row(2000)), Step::ready);
  EXPECT_EQ(reads(), 2u);
  // Another block of the same part.
  const size_t part = reader_->marks().find(row(2000));
  int near = 2000;
  while (reader_->marks().find(row(near + 12)) == part) near += 12;
  ASSERT_GT(near, 2000);
  EXPECT_EQ(read_row(row(near)), Step::ready);
  EXPECT_EQ(reads(), 3u);
}

TEST_F(TableParts, ARowThatIsNotThereCostsAPartAtMost) {
  fill(in_parts(), 2);  // even rows
  EXPECT_EQ(read_row(row(2001)), Step::end);
  EXPECT_EQ(reads(), 1u);
  int blocks = 0;
  for (int i = 1; i < kRows; i += 2) {
    const uint64_t before = f_.loader.stats().read_blocks;
    EXPECT_NE(read_row(row(i)), Step::failed);
    blocks += static_cast<int>(f_.loader.stats().read_blocks - before);
  }
  // All parts, and the false positives of filters of ten bits a row: one in a hundred.
  EXPECT_LE(blocks, static_cast<int>(top_index().parts()) + kRows / 2 / 40);
}

TEST_F(TableParts, AWalkReadsEveryPartAndEveryBlockOnce) {
  fill(in_parts());
  TableIterator it(*reader_);
  EXPECT_EQ(walk(it), entries_.size());
  EXPECT_EQ(f_.loader.stats().read_blocks, top_index().parts() + reader_->blocks());
  EXPECT_EQ(f_.loader.stats().read_bytes, parts_bytes() + reader_->meta().data_bytes);
}

TEST_F(TableParts, AMergeReadsPartsTogetherAndKeepsNothing) {
  fill(in_parts());
  f_.cache.set_budget(1u << 20);
  TableIterator it(*reader_, TableIteratorOptions::for_compaction());
  EXPECT_EQ(walk(it), entries_.size());
  EXPECT_EQ(f_.loader.stats().read_blocks, top_index().parts() + reader_->blocks());
  // A read of data reaches to the end of the next part, if that part is loaded.
  EXPECT_LE(reads(), top_index().parts() / 7 + 2 + top_index().parts() / 2);
  EXPECT_EQ(f_.cache.blocks(), 0u);
}

TEST_F(TableParts, WhereTheDeviceKeepsUpAScanWaitsForTheFirstPartsAlone) {
  Random random(1);
  for (int i = 0; i < 40'000; ++i) {
    std::string value(100, ' ');
    for (char& c : value) c = static_cast<char>(random.below(256));
    entries_.insert(cell_of(row(i), 1000, 1, value));
  }
  const auto waits_of_a_scan = [&](BlobId blob, size_t part_bytes) {
    TableWriterOptions options = small_blocks(4096, blob);
    options.part_bytes = part_bytes;
    f_.write(entries_, options);
    reader_ = f_.open(blob);
    TableIterator it(*reader_);
    size_t waits = 0;
    Step step = f_.finish(it, it.seek(""));
    while (step == Step::ready) {
      f_.world.run_until_idle();
      step = it.next();
      if (step != Step::blocked) continue;
      ++waits;
      step = f_.finish(it, step);
    }
    return waits;
  };
  const size_t whole = waits_of_a_scan(kBlob, 0);
  const size_t in_parts = waits_of_a_scan(BlobId{7}, PartsWriter::kPartBytes);
  ASSERT_GT(top_index().parts(), 8u);
  std::printf("waits %zu, in %zu parts %zu\n", whole, top_index().parts(), in_parts);
  EXPECT_LE(in_parts, whole + 3);
}

TEST_F(TableParts, PartsOutsideOfTheTimesWantedAreNotRead) {
  fill(in_parts());
  for (const bool backwards : {false, true}) {
    f_.cache.set_budget(0);
    const uint64_t before = f_.loader.stats().read_blocks;
    TableIteratorOptions options;
    options.times = {{1000 * 2000, 1000 * 2010}, false};
    TableIterator it(*reader_, options);
    size_t found = 0;
    std::string last = "\xff";
    Step step = f_.finish(it, backwards ? it.seek_before(last) : it.seek(""));
    while (step == Step::ready) {
      ++found;
      last.assign(it.key());
      step = f_.finish(it, backwards ? it.seek_before(last) : it.next());
    }
    EXPECT_GE(found, 10u);
    EXPECT_LE(found, 40u);
    EXPECT_LE(f_.loader.stats().read_blocks - before, backwards ? 80u : 8u) << backwards;
  }
}

TEST_F(TableParts, AScanThatEndsInAPartDoesNotReadTheNext) {
  fill(in_parts());
  const std::string upper(reader_->marks().separator(5));
  ReadWindow window;
  window.set(upper, nullptr);
  TableIteratorOptions options;
  options.window = &window;
  TableIterator it(*reader_, options);
  Step step = f_.finish(it, it.seek(reader_->marks().separator(4)));
  while (step == Step::ready) step = f_.finish(it, it.next());
  EXPECT_EQ(step, Step::end);
  EXPECT_TRUE(window.was_left());
  EXPECT_EQ(f_.loader.stats().read_blocks,
            1 + top_index().first_block(5) - top_index().first_block(4));
}

TEST_F(TableParts, ARowThatReachesOverPartsIsFoundFromAnyPlaceInIt) {
  for (int i = 0; i < 300; ++i) entries_.insert(cell_of(row(i)));
  std::vector<std::string> keys;
  for (int q = 0; q < 500; ++q) {
    std::string key;
    append_cell(key, row(150), "f", fmt::format("w{:04}", q), 1000, CommitStamp{1});
    std::string value;
    append_cell_value(value, "v");
    entries_[key] = value;
    keys.push_back(key);
  }
  f_.write(entries_, in_parts(300));
  reader_ = f_.open(kBlob);
  RowProbe probe;
  const std::string prefix = row_prefix(row(150));
  probe.aim(prefix);
  size_t parts = 0;
  for (const std::string& key : keys) {
    TableIteratorOptions options;
    options.probe = &probe;
    TableIterator it(*reader_, options);
    ASSERT_EQ(f_.finish(it, it.seek(key)), Step::ready);
    ASSERT_EQ(it.key(), key);
    parts = std::max(parts, reader_->marks().find(key));
  }
  ASSERT_GT(parts, reader_->marks().find(prefix) + 3) << "the row should reach over parts";
  // A column that lies in a later part than the first of its row is not excluded by the first part.
  for (const int q : {0, 250, 499}) {
    RowProbe columns;
    columns.aim(prefix);
    columns.add_column("f", fmt::format("w{:04}", q));
    EXPECT_TRUE(reader_->may_contain(columns));
    TableIteratorOptions options;
    options.probe = &columns;
    TableIterator it(*reader_, options);
    EXPECT_EQ(f_.finish(it, it.seek(prefix)), Step::ready);
  }
}

TEST_F(TableParts, ColumnsThatAPartDoesNotKnowAreLeftOut) {
  for (int i = 0; i < 200; ++i) {
    for (const char* qualifier : {"a", "b", "c"}) {
      std::string key;
      append_cell(key, row(i), "f", qualifier, 1000, CommitStamp{1});
      append_cell_value(entries_[key], "v");
    }
  }
  f_.write(entries_, in_parts(500));
  reader_ = f_.open(kBlob);
  ASSERT_GT(top_index().parts(), 3u);
  size_t left_out = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string prefix = row_prefix(row(i));
    for (const char* qualifier : {"b", "x"}) {
      RowProbe probe;
      probe.aim(prefix);
      probe.add_column("f", qualifier);
      TableIteratorOptions options;
      options.probe = &probe;
      TableIterator it(*reader_, options);
      const Step step = f_.finish(it, it.seek(prefix));
      if (*qualifier == 'b') EXPECT_EQ(step, Step::ready);
      left_out += step == Step::end;
      EXPECT_EQ(reader_->may_contain(probe), step == Step::ready) << "the part is cached now";
    }
  }
  EXPECT_GT(left_out, 180u) << "rows that reach over two parts are the exception";
}

TEST_F(TableParts, OfRowsKnownByTheirHashAFewAreKnownToBeAbsent) {
  fill(in_parts(), 2);
  size_t absent = 0;
  for (int i = 0; i < kRows; ++i) {
    const uint64_t hash = row_hash(row_prefix(row(i)));
    if (i % 2 == 0) EXPECT_TRUE(reader_->may_contain_row(hash));
    absent += !reader_->may_contain_row(hash);
    if (!TopLevelIndex::is_sampled(hash)) EXPECT_TRUE(reader_->may_contain_row(hash));
  }
  EXPECT_GT(absent, 0u);
  EXPECT_LT(absent, kRows / TopLevelIndex::kSampleShare * 2);
}

TEST_F(TableParts, ADamagedPartIsReportedByItsPlaceAndTheOthersAreRead) {
  fill(in_parts());
  const BlockHandle broken = top_index().handle(3);
  f_.store.bytes(kBlob)[broken.offset + 9] ^= 0x10;
  const std::string inside(reader_->marks().separator(3));
  TableIterator it(*reader_);
  ASSERT_EQ(f_.finish(it, it.seek(inside)), Step::failed);
  EXPECT_EQ(it.error().code, Errc::data_loss);
  EXPECT_NE(it.error().message.find(block_name(kBlob, broken.offset)), std::string::npos)
      << it.error().message;
  ASSERT_NE(reader_->damage(), nullptr);
  TableIterator behind(*reader_);
  EXPECT_EQ(f_.finish(behind, behind.seek(reader_->marks().separator(4))), Step::ready);
  EXPECT_EQ(f_.finish(behind, behind.seek(inside)), Step::failed);
  EXPECT_EQ(f_.finish(behind, behind.seek(reader_->marks().separator(5))), Step::ready)
      << "who failed may be sought anew";
}

TEST_F(TableParts, AReadThatFailedIsAskedForAnew) {
  fill(in_parts());
  f_.store.fail_reads_of(top_index().handle(3).offset);
  const std::string inside(reader_->marks().separator(3));
  TableIterator it(*reader_);
  EXPECT_EQ(f_.finish(it, it.seek(inside)), Step::failed);
  EXPECT_EQ(reader_->damage(), nullptr) << "a device that fails is no damage";
  f_.store.heal();
  EXPECT_EQ(f_.finish(it, it.seek(inside)), Step::ready);
}

TEST_F(TableParts, AnOutlineIsThatOfItsTable) {
  fill(in_parts());
  const BlockHandle at = reader_->footer().index;
  const uint64_t end = reader_->footer().meta.offset;  // where the parts end in this table
  const Bytes stored = Bytes(f_.store.bytes(kBlob)).substr(at.offset, at.size);
  const std::string contents = read_block(stored, kBlob, at.offset).value();
  TableIndex index;
  const auto inner = TopLevelIndex::inner(contents, end);
  ASSERT_TRUE(inner && index.open(inner->index, inner->data_end));
  EXPECT_TRUE(TopLevelIndex().open(contents, index, end));
  EXPECT_FALSE(TopLevelIndex().open(contents, index, end + 1)) << "data ends elsewhere";
  EXPECT_FALSE(TopLevelIndex().open(Bytes(contents).substr(0, contents.size() - 1), index, end));
  EXPECT_FALSE(TopLevelIndex().open(contents + "x", index, end));
  EXPECT_FALSE(TopLevelIndex::inner(contents, 10).has_value());
  EXPECT_FALSE(TopLevelIndex::inner("", end) && TopLevelIndex().open("", index, end));
}

TEST_F(TableParts, ATableOfRangeDeletesAloneHasNoParts) {
  f_.write({}, in_parts(), {{"a", "b", CommitStamp{3}}});
  reader_ = f_.open(kBlob);
  EXPECT_EQ(top_index().parts(), 0u);
  TableIterator it(*reader_);
  EXPECT_EQ(f_.finish(it, it.seek("")), Step::end);
  EXPECT_EQ(f_.finish(it, it.seek_before("z")), Step::end);
  EXPECT_EQ(read_row("a"), Step::end);
  EXPECT_EQ(reader_->range_deletes().size(), 1u);
}

}  // namespace
}  // namespace cellar::engine
