// RepairBed: a filled node in memory, its disk, and a repair of any damaged copy of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "engine/inspect/verify_directory.h"
#include "engine/repair/repair.h"
#include "engine/store/local/format_file.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"
#include "tests/support/test_node.h"

namespace cellar::engine {

struct Repaired {
  std::unique_ptr<MemDisk> disk;
  Result<RepairReport> report;
  std::string words;
  uint64_t faults = 0;  // how often the device failed
};

inline support::TestNodeOptions two_shards() {
  support::TestNodeOptions options;
  options.shards = 2;
  return options;
}

class RepairBed : public testing::Test {
 protected:
  using Cells = std::vector<support::OwnedCell>;

  // A node in memory writes no FORMAT file.
  static void give_format(MemDisk& disk) {
    ASSERT_TRUE(disk.write_all(kFormatPath, encode_format({.id = std::string(32, '0')})));
  }

  static Repaired repair(MemDisk& source, uint64_t bytes_limit = UINT64_MAX,
                         std::function<void(MemDisk&)> during = {},
                         size_t memtable_bytes = kRepairMemtableBytes,
                         const std::string& fault = {}) {
    Repaired repaired{.disk = std::make_unique<MemDisk>(), .report = {}, .words = {}};
    repaired.disk->set_bytes_limit(bytes_limit);
    SimWorld world;
    SimLoop& loop = world.add_loop();
    FaultRules rules;
    if (!fault.empty()) EXPECT_TRUE(rules.add(fault)) << fault;
    FaultyFs from(loop.executor(), std::make_unique<MemFs>(loop.executor(), source), rules);
    MemFs to(loop.executor(), *repaired.disk);
    RepairOptions options{
        .id = std::string(32, '1'), .memtable_bytes = memtable_bytes, .progress = {}};
    if (during) {
      options.progress = [&](const std::string&) { during(*repaired.disk); };
    }
    repaired.report = world.block_on(
        loop, repair_directory(from, to, loop.timers(), loop.executor(), std::move(options)));
    repaired.faults = rules.hits();
    if (repaired.report) {
      std::ostringstream words;
      print_repair(*repaired.report, false, words);
      print_repair(*repaired.report, true, words);
      repaired.words = words.str();
    }
    return repaired;
  }

  static void expect_sound(MemDisk& disk) {
    SimWorld world;
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), disk);
    std::ostringstream out;
    const auto dump = make_dump(DumpForm::problems_only, out);
    const auto verified = world.block_on(loop, verify_directory(fs, *dump));
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(dump->problems(), 0u) << out.str();
  }

  // Whether a node would open the directory.
  static bool is_refused(MemDisk& disk) {
    SimWorld world;
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), disk);
    const auto format = world.block_on(loop, read_format(fs));
    return !format && format.error().message.find("FORMAT is missing") != std::string::npos;
  }

  // A node on a copy of the disk.
  static std::unique_ptr<support::TestNode> open(const MemDisk& disk, uint32_t shards = 2) {
    support::TestNodeOptions options;
    options.shards = shards;
    auto node = std::make_unique<support::TestNode>(options, disk.clone());
    EXPECT_TRUE(node->is_open()) << node->open_error()->message;
    return node;
  }
  static Cells cells_of(const MemDisk& disk, const std::string& table) {
    return open(disk)->cells(table);
  }

  // Whether the report says that entries of the row may be missing.
  static bool is_told(const RepairReport& report, const std::string& row) {
    if (!report.lost_logs.empty()) return true;
    for (const LostFile& file : report.lost_files) {
      for (const KeyRange& rows : file.rows) {
        if (rows.contains(row)) return true;
      }
    }
    return false;
  }

  static bool contains(const Cells& cells, const support::OwnedCell& cell) {
    return std::ranges::find(cells, cell) != cells.end();
  }

  static void remove(MemDisk& disk, const std::string& path) {
    SimWorld world;
    SimLoop& loop = world.add_loop();
    MemFs fs(loop.executor(), disk);
    ASSERT_TRUE(world.block_on(loop, fs.remove(path)));
  }
  static std::vector<std::string> files(const MemDisk& disk, std::string_view prefix) {
    std::vector<std::string> found;
    for (std::string& path : disk.all_files()) {
      if (path.starts_with(prefix)) found.push_back(std::move(path));
    }
    return found;
  }
};

}  // namespace cellar::engine
