// Retention through the command line: rules and write guards of families, and their description.
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

class CliRetention : public ClockedCliBed {};

TEST_F(CliRetention, EveryPropertyOfAFamilyIsSetAndShown) {
  good({"createtable", "props", "families=a:maxage=2d or maxversions=3,b", "born-dead=accept",
        "rule=maxversions=1", "window-past=2d", "window-future=1h", "window-unit=seconds",
        "undo-window=7d", "reclaim-within=10m", "dead-slack=5%", "reclaim-share=0.5"});
  EXPECT_EQ(good({"ls", "props"}).substr(0, 6), "props\n");
  const std::string shown = good({"describe", "props"});
  EXPECT_NE(
      shown.find("\n    a       maxage=2d or maxversions=3  time        accept     past 2d, "
                 "future 1h, whole seconds  7d\n    b       maxversions=1               time"),
      std::string::npos)
      << shown;
  EXPECT_NE(shown.find("  reclaim      within 10m, dead slack 5%, up to 50% of disk writes\n"),
            std::string::npos)
      << shown;
  good({"alterfamily", "props", "b", "window-past=none", "born-dead=refuse"});
  EXPECT_NE(good({"ls", "props"}).find("refuse     future 1h, whole seconds"), std::string::npos);
  good({"alterfamily", "props", "b", "window-future=none", "undo-window=0s"});
  EXPECT_NE(good({"ls", "props"}).find("refuse     none                               0s\n"),
            std::string::npos)
      << good({"ls", "props"});
  good({"createfamily", "props", "c", "timestamps=sequence", "rule=maxversions=3"});
  EXPECT_NE(good({"ls", "props"}).find("c       maxversions=3               sequence    refuse"),
            std::string::npos);
}

TEST_F(CliRetention, AProfileGivesItsDefaults) {
  good({"createtable", "store", "profile=tablestore", "families=f"});
  const std::string shown = good({"ls", "store"});
  EXPECT_NE(shown.find("profile      tablestore\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("f       maxversions=1  time        refuse     past 1d, future 1d, whole "
                       "seconds (profile)"),
            std::string::npos)
      << shown;
  EXPECT_NE(good({"ls", "store", "--json"})
                .find("\"rule\":\"maxversions=1\",\"retention\":{\"max_versions\":1}"),
            std::string::npos);
  good({"createtable", "big", "profile=bigtable", "families=f"});
  EXPECT_NE(good({"ls", "big"}).find("f       never  time        accept (profile)  none"),
            std::string::npos)
      << good({"ls", "big"});
  EXPECT_NE(good({"ls", "big", "--json"}).find("\"born_dead_from_profile\":true"),
            std::string::npos);
  good({"gc", "set", "big", "f", "maxage=1s", "--yes"});
  good({"alterfamily", "big", "f", "timestamps=expiry"});
  EXPECT_NE(good({"ls", "big"}).find("f       maxage=1s  expiry      refuse     none"),
            std::string::npos)
      << good({"ls", "big"});
  good({"createtable", "named", "profile=tablestore", "families=f", "window-past=1h"});
  refused({"alterfamily", "named", "f", "timestamps=sequence"}, kFailed, "INVALID_ARGUMENT");
}

TEST_F(CliRetention, WhatCannotBeSaidIsAUsageError) {
  refused({"createtable", "u", "families=f", "rule=maxage"}, kUsage, "column 7");
  refused({"createtable", "u", "families=f:maxage=2d or,g"}, kUsage, "found the end");
  refused({"createtable", "u", "rule=never"}, kUsage, "needs families=");
  refused({"createtable", "u", "families=f", "timestamps=numbers"}, kUsage, "timestamps=numbers");
  refused({"createtable", "u", "families=f", "born-dead=no"}, kUsage, "born-dead=no");
  refused({"createtable", "u", "families=f", "window-past=soon"}, kUsage, "window-past=");
  refused({"createtable", "u", "families=f", "window-unit=ms"}, kUsage, "window-unit=ms");
  refused({"createtable", "u", "families=f", "undo-window=never"}, kUsage, "undo-window=");
  refused({"createtable", "u", "families=f", "profile=hbase"}, kUsage, "profile=hbase");
  refused({"createtable", "u", "families=f", "dead-slack=some"}, kUsage, "dead-slack=some");
  refused({"createtable", "u", "families=f", "dead-slack=200%"}, kFailed, "INVALID_ARGUMENT");
  refused({"createtable", "u", "families=f", "timestamps=sequence", "rule=maxage=1d"}, kFailed,
          "INVALID_ARGUMENT");
  refused({"alterfamily", "u", "f"}, kUsage, "needs timestamps=, born-dead=");
}

TEST_F(CliRetention, KeepingNoDeadByteShowsItsCostAndAsks) {
  good({"createtable", "slack", "families=f"});
  refused({"altertable", "slack", "dead-slack=0"}, kUsage, "add --yes");
  const Outcome no = at_terminal({"altertable", "slack", "dead-slack=0"}, "n\n");
  EXPECT_EQ(no.code, kFailed);
  EXPECT_NE(no.out.find("written again within 1h"), std::string::npos) << no.out;
  EXPECT_NE(no.out.find("nothing was changed"), std::string::npos) << no.out;
  EXPECT_NE(good({"ls", "slack"}).find("dead slack 10%"), std::string::npos);
  EXPECT_EQ(at_terminal({"altertable", "slack", "dead-slack=0"}, "y\n").code, kDone);
  EXPECT_NE(good({"ls", "slack"}).find("dead slack 0%"), std::string::npos);
  good({"altertable", "slack", "dead-slack=0", "reclaim-within=5m", "--yes"});
}

TEST_F(CliRetention, ACellMayHaveALifeOfItsOwn) {
  good({"createtable", "life", "families=f:maxage=2d"});
  good({"set", "life", "r", "f:default=a"});
  good({"set", "life", "r", "f:short=b", "ttl=1h"});
  good({"set", "life", "r", "f:long=c", "expire-at=in 3d"});
  const auto columns = [] {
    std::string all;
    for (const char* column : {"default", "short", "long"}) {
      const Outcome seen = cellar({"lookup", "life", "r", fmt::format("columns=f:{}", column)});
      if (seen.code == kDone) all += std::string(all.empty() ? "" : " ") + column;
    }
    return all;
  };
  EXPECT_EQ(columns(), "default short long");
  pass_us(3'600'000'001);
  EXPECT_EQ(columns(), "default long");
  pass_us(47 * 3'600'000'000);
  EXPECT_EQ(columns(), "long");
  pass_us(24 * 3'600'000'000);
  EXPECT_EQ(columns(), "");
  refused({"set", "life", "r", "f:q=v", "ttl=1h", "expire-at=now"}, kUsage, "either ttl=");
  refused({"set", "life", "r", "f:q=v", "ttl=long"}, kUsage, "'long' is not a duration");
  refused({"set", "life", "r", "f:q=v", "expire-at=1h ago"}, kFailed, "OUT_OF_RANGE");
}

}  // namespace
}  // namespace cellar::cli
