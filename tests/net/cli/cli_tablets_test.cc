// Tablets through the command line: shown, split, merged, moved; and the options of a table.
#include <boost/json.hpp>

#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

std::vector<boost::json::object> objects(const std::vector<std::string>& words) {
  const Outcome outcome = cellar(words);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  std::vector<boost::json::object> all;
  size_t begin = 0;
  for (size_t end; (end = outcome.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    all.push_back(boost::json::parse(outcome.out.substr(begin, end - begin)).as_object());
  }
  return all;
}

class Tablets : public CliBed {};

TEST_F(Tablets, AreShownSplitMovedAndMerged) {
  ASSERT_EQ(cellar({"createtable", "a", "families=f"}).code, kDone);
  ASSERT_EQ(cellar({"set", "a", "g", "f:q=v@1000"}).code, kDone);
  auto parts = objects({"splittablet", "a", "row=m", "--json"});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0]["end"], "m");
  EXPECT_EQ(parts[1]["start"], "m");
  const std::string left = boost::json::serialize(parts[0]["id"]);
  const std::string right = boost::json::serialize(parts[1]["id"]);
  const int64_t other = 1 - parts[1]["shard"].as_int64();
  auto moved = objects({"movetablet", "a", right, fmt::format("{}", other), "--json"});
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0]["shard"], other);
  EXPECT_EQ(boost::json::serialize(moved[0]["id"]), right);

  auto all = objects({"tablets", "a", "--json"});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["table"], "a");
  EXPECT_EQ(all[1]["shard"], other);
  EXPECT_GT(all[0]["bytes"].as_int64(), 0);
  const std::string text = cellar({"tablets"}).out;
  EXPECT_EQ(text.rfind("TABLE  FROM         TO", 0), 0u) << text;
  EXPECT_NE(text.find("(last row)"), std::string::npos) << text;

  auto merged = objects({"mergetablets", "a", left, right, "--json"});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0]["start"], "");
  EXPECT_EQ(merged[0]["end"], "");
  EXPECT_EQ(cellar({"count", "a"}).out, "1\n");
}

TEST_F(Tablets, WhatCannotBeIsRefusedWithItsExitCode) {
  ASSERT_EQ(cellar({"createtable", "b", "families=f"}).code, kDone);
  EXPECT_EQ(cellar({"splittablet", "b"}).code, kUsage);
  EXPECT_EQ(cellar({"splittablet", "b", "tablet=99999"}).code, kNotFound);
  EXPECT_EQ(cellar({"movetablet", "b", "x", "0"}).code, kUsage);
  EXPECT_EQ(cellar({"movetablet", "none", "1", "0"}).code, kNotFound);
  EXPECT_EQ(cellar({"mergetablets", "b", "99998", "99999"}).code, kNotFound);
  EXPECT_EQ(cellar({"tablets", "none"}).code, kNotFound);
}

TEST_F(Tablets, StatsShowEachShardAndTheNode) {
  const Outcome text = cellar({"stats", "interval=10ms"});
  EXPECT_EQ(text.code, kDone);
  EXPECT_EQ(text.out.rfind("SHARD  REQUESTS/S", 0), 0u) << text.out;
  EXPECT_NE(text.out.find("\nall "), std::string::npos) << text.out;
  auto watched = objects({"stats", "--watch", "count=2", "interval=10ms", "--json"});
  ASSERT_EQ(watched.size(), 2u);
  EXPECT_EQ(watched[1]["shards"].as_array().size(), 2u);
  EXPECT_GT(watched[1]["over_us"].as_int64(), 0);
  EXPECT_FALSE(watched[1]["read_only"].as_bool());
}

TEST_F(Tablets, StatsTellWhatIsPacked) {
  ASSERT_EQ(cellar({"createtable", "z", "families=f", "bottom-compression=zstd"}).code, kDone);
  ASSERT_EQ(objects({"stats", "interval=1ms", "--json"})[0]["zstd_bytes"].as_int64(), 0);
  for (const char* part : {"a", "b"}) {
    for (int i = 0; i < 60; ++i) {
      const std::string row = fmt::format("{}{:03}", part, i);
      const std::string cell = fmt::format("f:q={}{}", std::string(200, *part), i);
      ASSERT_EQ(cellar({"set", "z", row, cell}).code, kDone);
    }
    ASSERT_EQ(cellar({"flush", "z"}).code, kDone);
  }
  ASSERT_EQ(cellar({"compact", "z"}).code, kDone);
  auto stats = objects({"stats", "interval=1ms", "--json"})[0];
  EXPECT_GT(stats["zstd_bytes"].as_int64(), 0);
  EXPECT_LE(stats["zstd_bytes"].as_int64(), stats["table_bytes"].as_int64());
  EXPECT_EQ(stats["cache_packed_bytes"].as_int64(), 0) << "there is room";
  int64_t sum = 0;
  for (const auto& shard : stats["shards"].as_array()) sum += shard.at("zstd_bytes").as_int64();
  EXPECT_EQ(sum, stats["zstd_bytes"].as_int64());
  const std::string text = cellar({"stats", "interval=1ms"}).out;
  EXPECT_NE(text.find("  PACKED  "), std::string::npos) << text;
  EXPECT_NE(text.find("  ZSTD  "), std::string::npos) << text;
  EXPECT_NE(cellar({"info"}).out.find("of it Zstandard's"), std::string::npos);
}

TEST_F(Tablets, OptionsOfATableAtItsCreationAndLater) {
  ASSERT_EQ(cellar({"createtable", "c", "families=f", "granularity=micros", "durability=periodic",
                    "compression=none", "block-bytes=8192"})
                .code,
            kDone);
  std::string shown = cellar({"ls", "c"}).out;
  for (const char* word : {"micros", "periodic", "none, blocks of 8.0 KiB"}) {
    EXPECT_NE(shown.find(word), std::string::npos) << shown;
  }
  ASSERT_EQ(
      cellar({"altertable", "c", "durability=memory", "compression=lz4", "block-bytes=1024"}).code,
      kDone);
  shown = cellar({"ls", "c"}).out;
  for (const char* word : {"memory", "lz4, blocks of 1.0 KiB"}) {
    EXPECT_NE(shown.find(word), std::string::npos) << shown;
  }
  EXPECT_EQ(cellar({"createtable", "d", "families=f", "block-bytes=1"}).code, kFailed);
  EXPECT_EQ(cellar({"createtable", "d", "families=f", "compression=zip"}).code, kUsage);
}

}  // namespace
}  // namespace cellar::cli
