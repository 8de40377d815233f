// Repair without a manifest that decides, and repair of directories damaged at random.
#include <map>
#include <set>

#include "engine/model/schema.h"
#include "tests/engine/repair/repair_bed.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

using support::OwnedCell;
using support::TestNode;
using support::TestNodeOptions;

class RepairWithoutManifest : public RepairBed {
 protected:
  RepairWithoutManifest() : node_(two_shards()) { fill(); }

  void set(const std::string& table, const std::string& row, const std::string& column, int i) {
    const std::string value = fmt::format("{:0>300}", i);
    ASSERT_TRUE(node_.set(table, row, column, i, value));
    written_.insert({row, value});
  }
  void fill() {
    ASSERT_TRUE(node_.create_table("t", {"f"}, {"m"}));
    ASSERT_TRUE(node_.create_table("log", {"g"}));  // never flushed
    for (int i = 0; i < 200; ++i) {
      set("t", fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i), "f:q", i);
    }
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_TRUE(node_.split(node_.table("t")->tablets[0].id, "a100"));
    for (int i = 0; i < 200; i += 3) {
      set("t", fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i), "f:q", 1000 + i);
    }
    ASSERT_TRUE(node_.compact("t"));
    for (int i = 300; i < 340; ++i) set("t", fmt::format("c{:03}", i), "f:q", i);
    for (int i = 0; i < 20; ++i) set("log", fmt::format("l{:03}", i), "g:q", i);
    ASSERT_TRUE(node_.move(node_.table("t")->tablets[1].id, 1));
    set("t", "c400", "f:q", 400);
    give_format(node_.disk());
    t_ = node_.cells("t");
    log_ = node_.cells("log");
  }

  void expect_written(const Cells& cells) {
    for (const OwnedCell& cell : cells) {
      EXPECT_TRUE(written_.contains({cell.row, cell.value})) << cell.row << " " << cell.value;
    }
  }
  static void expect_all(const Cells& expected, const Cells& found) {
    for (const OwnedCell& cell : expected) EXPECT_TRUE(contains(found, cell)) << cell.row;
  }

  TestNode node_;
  std::set<std::pair<std::string, std::string>> written_;
  Cells t_;
  Cells log_;
};

TEST_F(RepairWithoutManifest, TablesGetMadeUpNamesAndLoseNothing) {
  const auto source = node_.disk().clone();
  for (const std::string& path : files(*source, "manifest/")) remove(*source, path);
  const Repaired repaired = repair(*source);
  ASSERT_TRUE(repaired.report) << repaired.report.error().message;
  EXPECT_FALSE(repaired.report->manifest_decides);
  EXPECT_FALSE(repaired.report->complete());
  EXPECT_NE(repaired.words.find("WARNING: no manifest"), std::string::npos) << repaired.words;
  EXPECT_NE(repaired.words.find("its definition is lost"), std::string::npos) << repaired.words;
  expect_sound(*repaired.disk);
  const auto node = open(*repaired.disk);
  Cells found;
  for (const RepairedTable& table : repaired.report->tables) {
    EXPECT_FALSE(table.defined);
    EXPECT_TRUE(table.name.starts_with("recovered_")) << table.name;
    const Cells some = node->cells(table.name);
    found.insert(found.end(), some.begin(), some.end());
    for (const FamilySchema& family : node->table(table.name)->schema.families) {
      EXPECT_EQ(family.rule, RetentionRule()) << family.name;
    }
  }
  expect_all(t_, found);
  expect_all(log_, found);
  expect_written(found);
  // New writes are later than everything recovered.
  const std::string name = repaired.report->tables[0].name;
  ASSERT_TRUE(node->set(name, "a000", "f:q", 0, "new"));
  bool seen = false;
  const auto row = node->read_row(name, "a000");
  ASSERT_TRUE(row);
  for (const OwnedCell& cell : *row) seen |= cell.value == "new";
  EXPECT_TRUE(seen);
}

TEST_F(RepairWithoutManifest, ADamagedManifestStillDefinesTables) {
  const std::string current = files(node_.disk(), "manifest/0").back();
  const uint64_t size = node_.disk().read_all(current)->size();
  size_t undecided = 0;
  size_t defined = 0;
  for (uint64_t at = 0; at < std::min<uint64_t>(size, 200u << 10); at += 4096 + 100) {
    SCOPED_TRACE(at);
    const auto source = node_.disk().clone();
    ASSERT_TRUE(source->corrupt(current, at, 4));
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    expect_sound(*repaired.disk);
    const auto node = open(*repaired.disk);
    Cells found;
    for (const RepairedTable& table : repaired.report->tables) {
      const Cells some = node->cells(table.name);
      found.insert(found.end(), some.begin(), some.end());
      defined += table.name == "t" && !repaired.report->manifest_decides;
    }
    undecided += !repaired.report->manifest_decides;
    expect_all(t_, found);
    expect_all(log_, found);
    expect_written(found);
  }
  EXPECT_GT(undecided, 3u);
  EXPECT_GT(defined, 1u);
}

TEST_F(RepairWithoutManifest, ATruncatedManifestIsNoEnd) {
  const std::string current = files(node_.disk(), "manifest/0").back();
  const std::string bytes = *node_.disk().read_all(current);
  for (const size_t keep : {size_t{0}, size_t{100}, size_t{4096}, size_t{9000}, bytes.size() / 2}) {
    SCOPED_TRACE(keep);
    const auto source = node_.disk().clone();
    remove(*source, current);
    ASSERT_TRUE(source->write_all(current, bytes.substr(0, keep)));
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << repaired.report.error().message;
    EXPECT_FALSE(repaired.report->manifest_decides);
    expect_sound(*repaired.disk);
    const auto node = open(*repaired.disk);
    Cells found;
    for (const RepairedTable& table : repaired.report->tables) {
      const Cells some = node->cells(table.name);
      found.insert(found.end(), some.begin(), some.end());
    }
    expect_all(t_, found);
    expect_written(found);
  }
}

TEST_F(RepairWithoutManifest, AnEmptyDirectoryGivesNothing) {
  MemDisk source;
  const Repaired none = repair(source);
  ASSERT_FALSE(none.report);
  EXPECT_EQ(none.report.error().code, Errc::failed_precondition);
  give_format(source);
  const Repaired nothing = repair(source);
  ASSERT_TRUE(nothing.report);
  EXPECT_TRUE(nothing.report->nothing());
  EXPECT_TRUE(is_refused(*nothing.disk));
}

// Any damage to any files: no crash, a sound directory that a node serves, and nothing in it that
// was not written.
TEST_F(RepairWithoutManifest, RandomDamageInventsNothing) {
  const uint64_t seed = number_from_environment("CELLAR_SEED", 11);
  Random random(seed);
  for (int round = 0; round < 60; ++round) {
    std::string did;
    SCOPED_TRACE(fmt::format("CELLAR_SEED={} round {}", seed, round));
    const auto source = node_.disk().clone();
    const std::vector<std::string> all = source->all_files();
    for (uint64_t n = 1 + random.below(6); n > 0; --n) {
      const std::string& path = all[random.below(all.size())];
      auto bytes = source->read_all(path);
      if (!bytes || bytes->empty() || path == kFormatPath) continue;
      const uint64_t how = random.below(8);
      did += fmt::format("{} {}\n", path, how);
      if (how == 0) {
        remove(*source, path);
      } else if (how == 1) {
        remove(*source, path);
        ASSERT_TRUE(source->write_all(path, bytes->substr(0, random.below(bytes->size()))));
      } else {
        const uint64_t used = std::min<uint64_t>(bytes->size(), 64u << 10);
        for (uint64_t bits = 1 + random.below(4); bits > 0; --bits) {
          ASSERT_TRUE(source->corrupt(path, random.below(used),
                                      static_cast<uint8_t>(1 << random.below(8))));
        }
      }
    }
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report) << did << repaired.report.error().message;
    if (repaired.report->nothing()) continue;
    expect_sound(*repaired.disk);
    const auto node = open(*repaired.disk);
    for (const RepairedTable& table : repaired.report->tables) {
      if (!table.dropped) expect_written(node->cells(table.name));
    }
    if (repaired.report->manifest_decides) {
      const Cells found = node->cells("t");
      for (const OwnedCell& cell : t_) {
        EXPECT_TRUE(contains(found, cell) || is_told(*repaired.report, cell.row))
            << cell.row << "\n"
            << did << repaired.words;
      }
    }
    if (!repaired.report->complete()) continue;
    EXPECT_TRUE(node->cells("t") == t_) << did << repaired.words;
    EXPECT_TRUE(node->cells("log") == log_) << did << repaired.words;
  }
}

}  // namespace
}  // namespace cellar::engine
