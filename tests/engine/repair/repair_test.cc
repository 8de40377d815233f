// Repair by a whole manifest: the same rows from an intact directory, and exactly the rest of a
// damaged one.
#include "engine/sstable/table_meta.h"
#include "io/base/coding.h"
#include "tests/engine/repair/repair_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedCell;
using support::TestNode;
using support::TestNodeOptions;

class Repair : public RepairBed {
 protected:
  Repair() : node_(two_shards()) { fill(); }

  // Rows in tables on disk and in logs only; a split file, a rule, range deletes, a dropped table.
  void fill() {
    ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
    ASSERT_TRUE(node_.create_table("other", {"f", "g"}));
    ASSERT_TRUE(node_.create_table("gone", {"f"}));
    ASSERT_TRUE(node_.set("gone", "r", "f:q", 1, "x"));
    for (int i = 0; i < 300; ++i) set("t", fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i), i);
    written_ = node_.cells("t");
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_TRUE(node_.split(node_.table("t")->tablets[0].id, "a100"));
    ASSERT_TRUE(node_.drop_rows("t", "z150", "z160"));
    for (int i = 300; i < 360; ++i) set("t", fmt::format("c{:03}", i), i);
    ASSERT_TRUE(node_.set("other", "r", "g:q", 1, "x"));
    ASSERT_TRUE(node_.move(node_.table("t")->tablets[1].id, 1));
    for (int i = 0; i < 40; ++i) set("other", fmt::format("o{:03}", i), i);
    ASSERT_TRUE(node_.drop_table("gone"));
    give_format(node_.disk());
    expected_ = node_.cells("t");
    other_ = node_.cells("other");
    written_.insert(written_.end(), expected_.begin(), expected_.end());
    ASSERT_GT(expected_.size(), 300u);
  }
  void set(const std::string& table, const std::string& row, int i) {
    ASSERT_TRUE(node_.set(table, row, "f:q", i, fmt::format("{:0>400}", i)));
  }

  // Every recovered cell was written, and is alive unless deletes are lost; every missing one is in
  // a row that the report names.
  void expect_rest(const Repaired& repaired) {
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    expect_sound(*repaired.disk);
    const Cells found = cells_of(*repaired.disk, "t");
    for (const OwnedCell& cell : found) {
      const bool deletes_lost = !repaired.report->complete();
      EXPECT_TRUE(contains(deletes_lost ? written_ : expected_, cell)) << cell.row << "\n"
                                                                       << repaired.words;
    }
    for (const OwnedCell& cell : expected_) {
      if (!contains(found, cell)) {
        EXPECT_TRUE(is_told(*repaired.report, cell.row)) << cell.row << "\n" << repaired.words;
      }
    }
  }
  TestNode node_;
  Cells expected_;
  Cells written_;  // also those deleted since
  Cells other_;
};

TEST_F(Repair, AnIntactDirectoryGivesTheSame) {
  for (const bool closed : {false, true}) {
    if (closed) ASSERT_TRUE(node_.close());
    const auto source = node_.disk().clone();
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    EXPECT_TRUE(repaired.report->complete()) << repaired.words;
    EXPECT_NE(repaired.words.find("nothing is lost"), std::string::npos) << repaired.words;
    EXPECT_EQ(repaired.report->commits > 0, !closed);  // a clean stop flushes
    EXPECT_GT(repaired.report->files_copied, 0u);
    expect_sound(*repaired.disk);
    for (const uint32_t shards : {1u, 2u, 3u}) {
      const auto node = open(*repaired.disk, shards);
      EXPECT_EQ(node->cells("t"), expected_);
      EXPECT_EQ(node->cells("other"), other_);
      EXPECT_EQ(node->table("t")->tablets.size(), 3u);
      ASSERT_EQ(node->dropped_tables().size(), 1u);
      ASSERT_TRUE(node->restore_table("gone"));
      EXPECT_EQ(node->cells("gone").size(), 1u);
    }
  }
}

TEST_F(Repair, TheNewDirectoryTakesWritesAfterEveryStampAndTheSourceStaysAsItWas) {
  const auto source = node_.disk().clone();
  const auto before = source->clone();
  const Repaired repaired = repair(*source);
  ASSERT_TRUE(repaired.report);
  ASSERT_EQ(source->all_files(), before->all_files());
  for (const std::string& path : before->all_files()) {
    EXPECT_EQ(source->read_all(path).value(), before->read_all(path).value()) << path;
  }
  const auto last = node_.set("t", "a000", "f:q", 5, "last");
  ASSERT_TRUE(last);
  const auto node = open(*repaired.disk);
  const auto next = node->set("t", "a000", "f:q", 0, "new");
  ASSERT_TRUE(next);
  EXPECT_EQ(node->read_row("t", "a000")->front().value, "new");
  ASSERT_TRUE(node->flush("t"));
  ASSERT_TRUE(node->compact("t"));
  ASSERT_TRUE(node->close());
  ASSERT_TRUE(node->reopen());
  EXPECT_EQ(node->read_row("t", "a000")->front().value, "new");
  EXPECT_EQ(node->cells("t").size(), expected_.size());
}

TEST_F(Repair, AFlippedBitInABlockLosesItsRowsOnly) {
  ASSERT_TRUE(node_.close());
  size_t partly = 0;
  size_t whole = 0;
  for (const std::string& path : files(node_.disk(), "blob/")) {
    const uint64_t size = node_.disk().read_all(path)->size();
    for (uint64_t at = 7; at < size; at += std::max<uint64_t>(size / 25, 1)) {
      SCOPED_TRACE(fmt::format("{} at {}", path, at));
      const auto source = node_.disk().clone();
      ASSERT_TRUE(source->corrupt(path, at, 0x20));
      const Repaired repaired = repair(*source);
      expect_rest(repaired);
      ASSERT_TRUE(repaired.report);
      for (const LostFile& file : repaired.report->lost_files) {
        EXPECT_EQ(file.path, path);
        ++(file.whole ? whole : partly);
      }
    }
  }
  EXPECT_GT(partly, 20u);
  EXPECT_LT(whole, partly);
}

TableMeta meta_of(const std::string& table) {
  const Bytes footer = Bytes(table).substr(table.size() - kTableFooterBytes);
  const BlobId blob{load_le<uint64_t>(table.data() + kTableHeaderBytes - sizeof(uint64_t))};
  const auto places = decode_table_footer(footer, blob, table.size());
  EXPECT_TRUE(places);
  const Bytes stored = Bytes(table).substr(places->meta.offset, places->meta.size);
  const auto contents = read_block(stored, blob, places->meta.offset);
  EXPECT_TRUE(contents);
  return *decode_table_meta(*contents);
}

// A table that is rewritten has no sections, nor have those of logs: a start builds them.
TEST_F(Repair, IndexesAreBuiltAgainWhereTheirEntriesAreDamaged) {
  TableChange change;
  change.name = "t";
  IndexSpec by_value;
  by_value.name = "i";
  by_value.family = "f";
  by_value.qualifier = "q";
  by_value.parts = {cellar::IndexPart::value};
  change.add_indexes.push_back(by_value);
  const auto altered = node_.alter_table(change);
  ASSERT_TRUE(altered) << altered.error().message;
  const auto get_ready = [](TestNode& node) {
    for (int i = 0; i < 1000; ++i) {
      const auto states = node.index_states("t");
      if (states && states->states.at(0).ready) return true;
      node.world().run_for_us(100'000);
    }
    return false;
  };
  ASSERT_TRUE(get_ready(node_));
  ASSERT_TRUE(node_.flush("t"));
  set("t", "late", 500);  // in the log
  IndexReadSpec spec;
  spec.index = "i";
  const auto expected = node_.read_index("t", spec);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_EQ(expected->size(), expected_.size() + 1);
  const auto with_section = [](const MemDisk& disk) {
    return std::ranges::count_if(files(disk, "blob/"), [&disk](const std::string& path) {
      return meta_of(*disk.read_all(path)).section_of(1) != nullptr;
    });
  };
  size_t damaged = 0;
  for (const std::string& path : files(node_.disk(), "blob/")) {
    SCOPED_TRACE(path);
    const TableMeta meta = meta_of(*node_.disk().read_all(path));
    const IndexSection* section = meta.section_of(1);
    if (section == nullptr || section->entries == 0) continue;
    const auto source = node_.disk().clone();
    ASSERT_TRUE(source->corrupt(path, section->offset + section->bytes() / 2, 0x20));
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    EXPECT_TRUE(repaired.report->complete()) << repaired.words;
    EXPECT_EQ(repaired.report->files_rewritten, 1u);
    EXPECT_NE(repaired.words.find("the section of index 1"), std::string::npos) << repaired.words;
    expect_sound(*repaired.disk);
    EXPECT_EQ(with_section(*repaired.disk), with_section(*source) - 1) << "those that are copied";
    const auto node = open(*repaired.disk);
    ASSERT_TRUE(get_ready(*node));
    const auto hits = node->read_index("t", spec);
    ASSERT_TRUE(hits) << hits.error().message;
    EXPECT_EQ(hits->size(), expected->size());
    ++damaged;
  }
  EXPECT_GT(damaged, 1u);
}

TEST_F(Repair, AMissingFileIsNamedWithItsRows) {
  ASSERT_TRUE(node_.close());
  for (const std::string& path : files(node_.disk(), "blob/")) {
    const auto source = node_.disk().clone();
    remove(*source, path);
    const Repaired repaired = repair(*source);
    expect_rest(repaired);
    ASSERT_EQ(repaired.report->lost_files.size(), 1u);
    EXPECT_EQ(repaired.report->lost_files[0].path, path);
    EXPECT_TRUE(repaired.report->lost_files[0].whole);
    EXPECT_FALSE(repaired.report->complete());
  }
}

TEST_F(Repair, ALogThatIsDamagedInItsMiddleLosesWhatIsThere) {
  size_t gaps = 0;
  for (const std::string& path : files(node_.disk(), "log/")) {
    if (!path.ends_with(".seg")) continue;
    for (uint64_t at = 5000; at < node_.disk().read_all(path)->size(); at += 4096) {
      SCOPED_TRACE(fmt::format("{} at {}", path, at));
      const auto source = node_.disk().clone();
      ASSERT_TRUE(source->corrupt(path, at, 1));
      const Repaired repaired = repair(*source);
      expect_rest(repaired);
      gaps += repaired.report->lost_logs.size();
      // One block of a log holds few rows.
      EXPECT_LE(expected_.size(), cells_of(*repaired.disk, "t").size() + 12);
    }
  }
  EXPECT_GT(gaps, 5u);
}

TEST_F(Repair, AMissingLogIsNamed) {
  const auto source = node_.crash_image(CrashPolicy::none);
  give_format(*source);
  for (const std::string& path : files(*source, "log/")) remove(*source, path);
  const Repaired repaired = repair(*source);
  expect_rest(repaired);
  EXPECT_GE(repaired.report->lost_logs.size(), 1u);
}

TEST_F(Repair, ATornTailIsNoLoss) {
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const auto pending = node_.begin_write("t", fmt::format("c{:03}", 400 + i),
                                           {support::set_cell("f:q", i, std::string(6000, 'w'))});
    const auto image = node_.crash_image(CrashPolicy::torn_last_write);
    node_.wait(*pending);
    give_format(*image);
    const Repaired repaired = repair(*image);
    ASSERT_TRUE(repaired.report);
    EXPECT_TRUE(repaired.report->complete()) << repaired.words;
    expect_sound(*repaired.disk);
    EXPECT_EQ(cells_of(*repaired.disk, "t"), cells_of(*image, "t"));
  }
}

// Many tables of one tablet, each newer than the one before: versions and deletes in order.
TEST_F(Repair, LogsLargerThanItsMemoryBecomeSeveralTables) {
  TestNodeOptions options;
  options.engine.memtable_bytes = 64u << 20;  // everything stays in the log
  TestNode source(options);
  ASSERT_TRUE(source.create_table("long", {"f"}));
  for (int i = 0; i < 600; ++i) {
    const std::string row = fmt::format("r{}", i % 50);
    if (i % 7 == 0) {
      ASSERT_TRUE(source.write("long", row, {support::delete_row()}));
    } else {
      const char letter = static_cast<char>('a' + i % 26);
      ASSERT_TRUE(source.set("long", row, "f:q", 1, std::string(5000, letter)));
    }
  }
  const Cells before = source.cells("long");
  give_format(source.disk());
  const Repaired repaired = repair(source.disk(), UINT64_MAX, {}, 1);
  ASSERT_TRUE(repaired.report);
  EXPECT_TRUE(repaired.report->complete());
  EXPECT_GT(repaired.report->commits, 50u);
  EXPECT_GT(repaired.report->tables[0].files, 3u);
  expect_sound(*repaired.disk);
  const auto node = open(*repaired.disk);
  EXPECT_EQ(node->cells("long"), before);
  ASSERT_TRUE(node->compact("long"));
  EXPECT_EQ(node->cells("long"), before);
}

// An older manifest that is whole does not decide.
TEST_F(Repair, AnObsoleteManifestDoesNotDecide) {
  const std::string old = files(node_.disk(), "manifest/0").back();
  const std::string old_bytes = *node_.disk().read_all(old);
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  for (int i = 500; i < 520; ++i) set("t", fmt::format("k{}", i), i);
  ASSERT_TRUE(node_.flush("t"));
  const Cells all = node_.cells("t");
  const std::string current = files(node_.disk(), "manifest/0").back();
  ASSERT_NE(old, current);
  ASSERT_TRUE(node_.disk().write_all(old, old_bytes));
  for (const int how : {0, 1, 2, 3}) {
    SCOPED_TRACE(how);
    const auto source = node_.disk().clone();
    if (how == 0) ASSERT_TRUE(source->corrupt(current, 4096 + 30, 1));
    if (how == 1 || how == 2) remove(*source, current);
    if (how >= 2) remove(*source, "manifest/CURRENT");
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    EXPECT_EQ(repaired.report->manifest_decides, how == 3) << repaired.words;
    const Cells found = cells_of(*repaired.disk, "t");
    for (const OwnedCell& cell : all) EXPECT_TRUE(contains(found, cell)) << cell.row;
  }
}

TEST_F(Repair, TheLostPointerIsNoDoubtIfTheManifestIsWhole) {
  const auto source = node_.disk().clone();
  remove(*source, "manifest/CURRENT");
  const Repaired repaired = repair(*source);
  ASSERT_TRUE(repaired.report);
  EXPECT_TRUE(repaired.report->manifest_decides) << repaired.words;
  EXPECT_FALSE(repaired.report->damage.empty());
  EXPECT_EQ(cells_of(*repaired.disk, "t"), expected_);
}

TEST_F(Repair, ALostFormatIsNoLoss) {
  const auto source = node_.disk().clone();
  remove(*source, std::string(kFormatPath));
  const Repaired repaired = repair(*source);
  ASSERT_TRUE(repaired.report);
  EXPECT_TRUE(repaired.report->complete()) << repaired.words;
  EXPECT_EQ(cells_of(*repaired.disk, "t"), expected_);
  ASSERT_TRUE(
      source->write_all(kFormatPath, encode_format({kDirectoryFormat + 1, std::string(32, '0')})));
  const Repaired refused = repair(*source);
  ASSERT_FALSE(refused.report);
  EXPECT_EQ(refused.report.error().code, Errc::failed_precondition);
}

// At any moment before its end the new directory is refused, also after a power failure.
TEST_F(Repair, AnInterruptedRepairLeavesADirectoryThatIsRefused) {
  const auto source = node_.disk().clone();
  Random random(9);
  size_t images = 0;
  const Repaired done = repair(*source, UINT64_MAX, [&](MemDisk& disk) {
    for (const CrashPolicy policy :
         {CrashPolicy::none, CrashPolicy::all, CrashPolicy::random_subset}) {
      EXPECT_TRUE(is_refused(*disk.crash_image(policy, random)));
      ++images;
    }
  });
  ASSERT_TRUE(done.report);
  EXPECT_GT(images, 5u);
  EXPECT_FALSE(is_refused(*done.disk));
  // It was durable when it ended.
  const auto after = done.disk->crash_image(CrashPolicy::none, random);
  expect_sound(*after);
  EXPECT_EQ(cells_of(*after, "t"), expected_);
  size_t full = 0;
  for (uint64_t limit = 16u << 10; limit < 400u << 10; limit += 24u << 10) {
    const Repaired short_of_room = repair(*source, limit);
    if (short_of_room.report) continue;
    ++full;
    EXPECT_TRUE(is_refused(*short_of_room.disk)) << limit;
  }
  EXPECT_GT(full, 3u);
}

}  // namespace
}  // namespace cellar::engine
