// Tables and families through the command line: created, changed, described.

#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

class CliTables : public CliBed {};

TEST_F(CliTables, FamiliesComeAndGoAndOptionsChange) {
  good({"createtable", "change", "families=f", "splits=m"});
  const auto lookup = [] { return good({"lookup", "change", "a"}); };
  EXPECT_EQ(cellar({"set", "change", "a", "g:q=1"}).code, kNotFound);
  good({"createfamily", "change", "g"});
  good({"set", "change", "a", "--at", "1000", "f:q=1", "g:q=2"});
  EXPECT_EQ(lookup(),
            "a\n  f:q  1970-01-01T00:00:00.001Z  1\n  g:q  1970-01-01T00:00:00.001Z  2\n");
  good({"dropfamily", "change", "g", "--yes"});
  EXPECT_EQ(lookup(), "a\n  f:q  1970-01-01T00:00:00.001Z  1\n");
  EXPECT_EQ(good({"createfamily", "change", "g", "--json"}),
            "{\"ok\":true,\"table\":\"change\"}\n");
  EXPECT_EQ(lookup(), "a\n  f:q  1970-01-01T00:00:00.001Z  1\n") << "it comes back empty";
  good(
      {"altertable", "change", "durability=periodic", "--compression", "none", "block-bytes=8192"});
  const std::string table = good({"ls", "change"});
  EXPECT_NE(table.find("durability   periodic"), std::string::npos) << table;
  EXPECT_NE(table.find("none, blocks of 8"), std::string::npos) << table;
  EXPECT_NE(table.find("version 5"), std::string::npos) << table;

  refused({"createfamily", "change", "g"}, kFailed, "ALREADY_EXISTS");
  refused({"createfamily", "absent", "g"}, kNotFound, "NOT_FOUND");
  refused({"dropfamily", "change", "h", "--yes"}, kNotFound, "no family 'h'");
  refused({"altertable", "change"}, kUsage,
          "altertable needs durability=, compression=, block-bytes=");
  refused({"altertable", "change", "durability=never"}, kUsage, "durability=never");
  refused({"altertable", "change", "compression=zip"}, kUsage, "compression=zip");
  refused({"altertable", "change", "block-bytes=1"}, kFailed, "INVALID_ARGUMENT");
  refused({"deletefamily", "change", "g"}, kUsage, "deletefamily needs TABLE ROW FAMILY");
}

TEST_F(CliTables, SampleKeysShowsWhereATableIsCut) {
  good({"createtable", "cuts", "families=f", "splits=g,p"});
  EXPECT_EQ(good({"samplekeys", "cuts"}),
            "UP TO       BYTES BEFORE\ng           0\np           0\n(last row)  0\n");
  good({"set", "cuts", "h", "f:q=" + std::string(3'000, 'x')});
  const std::string lines = good({"samplekeys", "cuts", "--json"});
  EXPECT_NE(lines.find("{\"key\":\"g\",\"bytes_before\":0}\n{\"key\":\"p\",\"bytes_before\":"),
            std::string::npos)
      << lines;
  EXPECT_EQ(lines.find("\"p\",\"bytes_before\":0}"), std::string::npos) << lines;
  EXPECT_EQ(cellar({"samplekeys", "absent"}).code, kNotFound);
}

TEST_F(CliTables, WhatDestroysAsksAndTells) {
  good({"createtable", "asks", "families=f,g", "splits=m"});
  good({"set", "asks", "r", "f:q=v", "g:q=w", "--at", "1000"});
  const std::string all = good({"read", "asks"});
  const std::vector<std::vector<std::string>> commands = {
      {"droprows", "asks", "prefix=r"}, {"dropfamily", "asks", "g"}, {"deletetable", "asks"}};
  for (const auto& command : commands) {
    refused(command, kUsage, "add --yes");
    const Outcome no = at_terminal(command, "no\n");
    EXPECT_EQ(no.code, kFailed) << no.out;
    EXPECT_NE(no.out.find("[y/N]"), std::string::npos) << no.out;
    EXPECT_NE(no.out.find("nothing was changed"), std::string::npos) << no.out;
    EXPECT_EQ(good({"read", "asks"}), all);
  }
  EXPECT_EQ(good({"dropfamily", "asks", "g", "--yes"}),
            "removed family g of asks with all its cells; this cannot be undone\n");
  const std::string dropped = good({"droprows", "asks", "start=q", "end=s", "--yes"});
  EXPECT_TRUE(dropped.starts_with(
      "deleted the rows of asks from 'q' on, up to before 's', in 1 tablet; this cannot be "
      "undone\ncommitted at 20"))
      << dropped;
  const Outcome yes = at_terminal({"deletetable", "asks"}, "y\n");
  EXPECT_EQ(yes.code, kDone) << yes.out;
  EXPECT_NE(yes.out.find("restoretable can bring it back for 1d"), std::string::npos) << yes.out;
  EXPECT_NE(yes.out.find("restoretable can bring it back until 20"), std::string::npos) << yes.out;
}

TEST_F(CliTables, AFamilyIsAddedAndRemoved) {
  good({"createtable", "grows", "families=a"});
  good({"createfamily", "grows", "b"});
  good({"set", "grows", "r", "b:q=v", "a:q=w", "--at", "1000"});
  good({"dropfamily", "grows", "a", "--yes"});
  EXPECT_EQ(good({"read", "grows"}), "r\n  b:q  1970-01-01T00:00:00.001Z  v\n");
  EXPECT_EQ(cellar({"set", "grows", "r", "a:q=w"}).code, kNotFound);
}

TEST_F(CliTables, TablesAndTheNodeDescribeThemselves) {
  good({"createtable", "shown", "families=a,b", "splits=m", "granularity=micros",
        "durability=periodic"});
  const std::string text = good({"ls", "shown"});
  EXPECT_NE(text.find("  families     2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    b       never  time        refuse     none    1d\n"),
            std::string::npos);
  EXPECT_NE(text.find("  granularity  micros\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  durability   periodic\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(first row)  m"), std::string::npos) << text;
  EXPECT_NE(good({"ls"}).find("shown"), std::string::npos);
  EXPECT_NE(good({"ls", "--json"}).find("{\"table\":\"shown\","), std::string::npos);
  good({"flush", "shown"});
  good({"compact", "shown"});
  good({"deletetable", "shown", "--yes"});
  EXPECT_NE(good({"info"}).find("SHARD"), std::string::npos);
  EXPECT_NE(good({"info", "--json"}).find("\"io_backend\""), std::string::npos);
  EXPECT_NE(good({"ping", "count=2"}).find("answered in"), std::string::npos);
}

}  // namespace
}  // namespace cellar::cli
