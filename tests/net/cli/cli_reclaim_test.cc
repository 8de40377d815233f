// The reasons for dead bytes on disk through the command line: text, JSON and exit codes.
#include <filesystem>
#include <fstream>

#include <boost/json/parse.hpp>

#include "net/cli/commands/commands.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int64_t kMinuteUs = 60'000'000;
constexpr int64_t kHourUs = 60 * kMinuteUs;

class CliReclaim : public ClockedCliBed {
 protected:
  static fs::path dir() {
    return json::parse(good({"info", "--json"})).at("data_dir").as_string().c_str();
  }
  static std::vector<fs::path> blobs() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir())) {
      if (entry.path().extension() == ".sst") files.push_back(entry.path());
    }
    return files;
  }
  // Flips a bit in the first block.
  static void damage(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(100);
    const char byte = static_cast<char>(file.get());
    file.seekp(100);
    file.put(static_cast<char>(byte ^ 0x10));
    ASSERT_TRUE(file.good());
  }
};

TEST_F(CliReclaim, WhatMeetsItsDeadlineSaysSoAndEndsWellAndWhatIsDeadIsNamed) {
  good({"createtable", "docs", "families=f:maxage=1h"});
  EXPECT_NE(good({"gc", "why", "docs"}).find("  the reclaim deadline is met: dead_slack 0.1"),
            std::string::npos);
  good({"set", "docs", "r", "f:q=v"});
  good({"flush", "docs"});
  EXPECT_EQ(good({"gc", "why"}), good({"gc", "why", "docs"})) << "it is the only table";
  pass_us(kHourUs + kMinuteUs);
  const Outcome told = cellar({"gc", "why", "docs"});
  EXPECT_EQ(told.code, kDone) << told.err;
  EXPECT_NE(told.out.find("wholly dead): wholly dead; leaves when the removal margin is over, in "),
            std::string::npos)
      << told.out;
  const json::value value = json::parse(good({"gc", "why", "docs", "--json"}));
  EXPECT_EQ(value.at("files_there"), 1);
  const json::value& file = value.at("files").at(0);
  EXPECT_EQ(file.at("reason"), "margin");
  EXPECT_EQ(file.at("wholly_dead"), true);
  EXPECT_EQ(value.at("tables").at(0).at("missed"), false);
  EXPECT_EQ(value.at("reasons").at(0).at("files"), 1);
  const json::value none = json::parse(good({"gc", "why", "docs", "files=0", "--json"}));
  EXPECT_TRUE(none.at("files").as_array().empty());
  const json::value stats = json::parse(good({"stats", "--json", "interval=1ms"}));
  EXPECT_GT(stats.at("reclaim").at("dead_bytes").to_number<uint64_t>(), 0u);
  EXPECT_EQ(stats.at("deadlines_missed"), 0);
  EXPECT_EQ(stats.at("shards").at(0).at("reclaim").at("pinned_bytes"), 0);
}

TEST_F(CliReclaim, ADamagedFileIsNamedAndWhatWaitsForItMissesItsDeadline) {
  good({"createtable", "docs", "families=f:never", "granularity=micros"});
  for (int i = 0; i < 60; ++i) {
    good({"set", "docs", fmt::format("row{:02}", i), fmt::format("f:q={:0>200}@5", i)});
  }
  good({"flush", "docs"});
  ASSERT_EQ(blobs().size(), 1u);
  const std::string name = blobs().front().stem();
  damage(blobs().front());
  refused({"lookup", "docs", "row00"}, kDamaged, "DATA_LOSS");
  good({"lookup", "docs", "row59"});
  Outcome told = cellar({"gc", "why", "docs"});
  EXPECT_EQ(told.code, kDone) << "nothing is overdue";
  EXPECT_NE(told.out.find("file " + name), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("damaged, and no merge reads it: "), std::string::npos) << told.out;
  const Outcome doctor = cellar({"doctor"});
  EXPECT_EQ(doctor.code, kFailed);
  EXPECT_NE(doctor.out.find("problem  damage   1 file found damaged since the start"),
            std::string::npos)
      << doctor.out;

  good({"set", "docs", "row01", "f:q=v@5", "ttl=1m"});  // displaces one of its cells, and dies
  good({"flush", "docs"});
  pass_us(3 * kHourUs);
  told = cellar({"gc", "why", "docs"});
  EXPECT_EQ(told.code, kMissed) << told.out;
  EXPECT_NE(told.out.find("  the reclaim deadline is missed, by 1 h "), std::string::npos)
      << told.out;
  EXPECT_NE(told.out.find("only a merge that reads " + name + ", which is damaged, would take it"),
            std::string::npos)
      << told.out;
  EXPECT_NE(cellar({"doctor"}).out.find("reclaim  1 table miss"), std::string::npos);
  EXPECT_NE(good({"stats", "interval=1ms"}).find("1 table miss"), std::string::npos);
  const json::value value = json::parse(cellar({"gc", "why", "--json"}).out);
  EXPECT_EQ(value.at("tables").at(0).at("missed"), true);
}

TEST_F(CliReclaim, MistakesAreToldApart) {
  good({"createtable", "docs", "families=f:never"});
  refused({"gc", "why", "nothing"}, kNotFound, "NOT_FOUND: table 'nothing' does not exist");
  refused({"gc", "why", "docs", "files=10001"}, kUsage, "files=10001 is more than 10000");
}

}  // namespace
}  // namespace cellar::cli
