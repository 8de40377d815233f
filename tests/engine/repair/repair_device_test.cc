// Errors of the device while a directory is repaired: what cannot be read is reported, whichever
// read it is, and everything else is recovered.
#include "engine/sstable/format.h"
#include "io/base/random.h"
#include "tests/engine/repair/repair_bed.h"

namespace cellar::engine {
namespace {

using support::OwnedCell;
using support::TestNode;

class RepairDevice : public RepairBed {
 protected:
  RepairDevice() : node_(two_shards()) { fill(); }

  // Rows in tables on disk, and rows in logs only.
  void fill() {
    ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
    for (int i = 0; i < 300; ++i) set(fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i), i);
    ASSERT_TRUE(node_.flush("t"));
    for (int i = 300; i < 360; ++i) set(fmt::format("c{:03}", i), i);
    ASSERT_TRUE(node_.move(node_.table("t")->tablets[1].id, 1));
    for (int i = 360; i < 420; ++i) set(fmt::format("{}{:03}", i % 2 == 0 ? "b" : "y", i), i);
    give_format(node_.disk());
    source_ = node_.disk().clone();
    expected_ = node_.cells("t");
    ASSERT_EQ(expected_.size(), 420u);
  }
  void set(const std::string& row, int i) {
    std::string value(400, '\0');  // random: a block fills a sector, compressed too
    Random random(static_cast<uint64_t>(i));
    for (char& c : value) c = static_cast<char>(random.next());
    ASSERT_TRUE(node_.set("t", row, "f:q", i, value));
  }

  // How many cells are lost. Each is in a row that the report names, and nothing else is there.
  size_t lost_with(const std::string& fault) {
    SCOPED_TRACE(fault);
    last_ = repair(*source_, UINT64_MAX, {}, kRepairMemtableBytes, fault);
    if (!last_.report) {
      EXPECT_NE(last_.report.error().message.find("(injected)"), std::string::npos)
          << last_.report.error().message;
      EXPECT_TRUE(is_refused(*last_.disk) || last_.disk->all_files().empty());
      ++ended_;
      return 0;
    }
    expect_sound(*last_.disk);
    const std::string table = last_.report->tables.empty() ? "t" : last_.report->tables[0].name;
    const Cells found = last_.report->tables.empty() ? Cells() : cells_of(*last_.disk, table);
    for (const OwnedCell& cell : found) EXPECT_TRUE(contains(expected_, cell)) << cell.row;
    size_t lost = 0;
    for (const OwnedCell& cell : expected_) {
      if (contains(found, cell)) continue;
      ++lost;
      const bool told = is_told(*last_.report, cell.row) || !last_.report->manifest_decides;
      EXPECT_TRUE(told) << cell.row << "\n" << last_.words;
    }
    if (lost > 0) EXPECT_FALSE(last_.report->complete()) << last_.words;
    return lost;
  }

  TestNode node_;
  std::unique_ptr<MemDisk> source_;
  Cells expected_;
  Repaired last_;
  size_t ended_ = 0;  // repairs that ended with an error
};

// A read that fails once, and one after which nothing more of these files can be read.
TEST_F(RepairDevice, WhatCannotBeReadIsReported) {
  for (const std::string path : {"blob/*", "log/*", "manifest/*"}) {
    size_t lossy = 0;
    for (const bool sticky : {false, true}) {
      for (int nth = 1;; ++nth) {
        ASSERT_LT(nth, 500);
        const std::string fault =
            fmt::format("read path={} nth={} error=EIO{}", path, nth, sticky ? " sticky" : "");
        lossy += lost_with(fault) > 0;
        if (last_.faults == 0) break;
      }
    }
    if (path != "manifest/*") EXPECT_GT(lossy, 1u) << path;
  }
  EXPECT_EQ(ended_, 0u);
}

// Names that cannot be opened, sizes that cannot be asked, directories that cannot be listed.
TEST_F(RepairDevice, WhatCannotBeOpenedIsReported) {
  for (const std::string operation : {"open", "size", "list", "close"}) {
    for (int nth = 1;; ++nth) {
      ASSERT_LT(nth, 500);
      lost_with(fmt::format("{} nth={} error=EIO", operation, nth));
      if (last_.faults == 0) break;
    }
    // Without the names of its files nothing is known of a directory; a close gives no data.
    if (operation == "open" || operation == "size") EXPECT_EQ(ended_, 0u) << operation;
    ended_ = 0;
  }
}

// One bad sector takes the blocks of a table that lie in it: the rest of the file is recovered.
TEST_F(RepairDevice, ABadSectorLosesItsBlocksOnly) {
  const std::string path = files(*source_, "blob/").front();
  const size_t lost =
      lost_with(fmt::format("read path={} at={} error=EIO", path, kTableHeaderBytes + 100));
  EXPECT_GT(lost, 0u);
  ASSERT_TRUE(last_.report);
  ASSERT_EQ(last_.report->lost_files.size(), 1u);
  EXPECT_FALSE(last_.report->lost_files[0].whole);
  EXPECT_LE(last_.report->lost_files[0].blocks, 2u);
  EXPECT_LT(lost, 20u);
}

// A file of which nothing can be read.
TEST_F(RepairDevice, AFailedReadOfATableNamesItsFile) {
  const std::string path = files(*source_, "blob/").front();
  const size_t lost = lost_with(fmt::format("read path={} error=EIO sticky nth=1", path));
  EXPECT_GT(lost, 0u);
  ASSERT_TRUE(last_.report);
  ASSERT_EQ(last_.report->lost_files.size(), 1u);
  EXPECT_EQ(last_.report->lost_files[0].path, path);
  EXPECT_TRUE(last_.report->lost_files[0].whole);
  EXPECT_NE(last_.report->lost_files[0].why.find("Input/output error"), std::string::npos)
      << last_.report->lost_files[0].why;
}

}  // namespace
}  // namespace cellar::engine
