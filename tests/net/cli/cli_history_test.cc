// Undo and history through the command line: deleted tables, the audit trail, open undo windows.
#include <boost/json.hpp>

#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

class CliHistory : public ClockedCliBed {
 protected:
  static boost::json::object object(const std::string& lines) {
    return boost::json::parse(lines.substr(0, lines.find('\n'))).as_object();
  }
};

TEST_F(CliHistory, ADeletedTableIsListedAndRestored) {
  good({"createtable", "t", "families=f", "undo-window=2h"});
  good({"set", "t", "r", "f:q=v@1000"});
  const std::string row = good({"read", "t"});
  EXPECT_EQ(good({"ls", "--dropped"}), "");
  good({"deletetable", "t", "--yes"});
  refused({"read", "t"}, kNotFound, "NOT_FOUND");
  EXPECT_EQ(good({"ls"}).find("t  "), std::string::npos);
  const std::string listed = good({"ls", "--dropped"});
  EXPECT_NE(listed.find("2026-04-30T09:00:00Z  2026-04-30T11:00:00Z"), std::string::npos) << listed;
  EXPECT_EQ(object(good({"ls", "--dropped", "--json"})).at("table").as_string(), "t");
  good({"restoretable", "t"});
  EXPECT_EQ(good({"read", "t"}), row);
  refused({"restoretable", "t"}, kNotFound, "no dropped table 't'");
  good({"deletetable", "t", "--yes"});
  pass_us(2 * 3'600'000'000 + 1);
  refused({"restoretable", "t"}, kNotFound, "no dropped table 't'");
}

TEST_F(CliHistory, TheAuditTrailIsReadByPeopleAndPrograms) {
  good({"createtable", "a", "families=f:maxversions=3", "undo-window=1h"});
  good({"alterfamily", "a", "f", "born-dead=accept"});
  good({"gc", "set", "a", "f", "maxversions=1", "--yes"});
  const std::string described = good({"describe", "a"});
  EXPECT_NE(described.find("f              maxversions=3"), std::string::npos) << described;
  const std::string text = good({"audit", "a", "count=1"});
  EXPECT_NE(text.find("family changed"), std::string::npos) << text;
  EXPECT_NE(text.find("rule maxversions=3 -> maxversions=1"), std::string::npos) << text;
  EXPECT_NE(good({"audit", "a"}).find("born_dead refuse -> accept"), std::string::npos);
  EXPECT_NE(text.find("cellar 0.1 at "), std::string::npos) << text;
  const auto newest = object(good({"audit", "a", "--json"}));
  EXPECT_EQ(newest.at("action").as_string(), "alter_family");
  EXPECT_EQ(newest.at("family").as_string(), "f");
  EXPECT_EQ(newest.at("old_rule").as_string(), "maxversions=3");
  EXPECT_EQ(newest.at("new_rule").as_string(), "maxversions=1");
  EXPECT_TRUE(newest.at("details").as_array().empty());
  const std::string all = good({"audit", "a", "--json"});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4) << all;
  pass_us(1'000'000);
  EXPECT_EQ(good({"audit", "a", "since=now", "--json"}), "");
  refused({"audit", "a", "since=never"}, kUsage, "never");
}

}  // namespace
}  // namespace cellar::cli
