// Directories of an older format: what the format supports is served, anything else is refused, and
// contents that earlier programs wrote beyond it are kept (engine/store/format_file.h).
#include "tests/process/support/operate_bed.h"

namespace cellar::process {
namespace {

class OldDirectory : public Operate {
 protected:
  void unpack(const std::string& name) {
    std::string said;
    const std::string tar = fmt::format("{}/tests/testdata/{}.tar.gz", CELLAR_SOURCE_DIR, name);
    ASSERT_EQ(run(fmt::format("tar -xzf {} -C {}", tar, scratch_.string()), said), 0) << said;
    node_ = make({}, "golden");
    ASSERT_TRUE(node_->start());
  }
  // Runs `cellar WORDS`, expects success or failure, and returns its output.
  std::string cellar(const std::string& words, bool well = true) {
    std::string said;
    const int code = run(
        fmt::format("{} --addr {} {}", (bin() / "cellar").string(), node_->address(), words), said);
    EXPECT_EQ(code == 0, well) << words << ": " << said;
    return said;
  }
  void expect_refused(const std::string& words) {
    EXPECT_NE(cellar(words, false).find("--upgrade-format"), std::string::npos) << words;
  }
  bool has_compaction(const std::string& table, const std::string& value) {
    return cellar("describe " + table).find("compaction   " + value) != std::string::npos;
  }
  size_t rows_of_t() {
    client::SyncClient client(options_of(*node_));
    return read(client, "t").size();
  }
  std::string format() { return read_all(fs::path(path("golden")) / "FORMAT").substr(0, 15); }

  std::unique_ptr<cases::NodeProcess> node_;
};

TEST_F(OldDirectory, OneOfFormatOneTakesNoChoiceOfCompaction) {
  ASSERT_NO_FATAL_FAILURE(unpack("data_directory_format_1"));
  expect_refused("altertable t compaction=tiered");
  expect_refused("createtable u families=f compaction=time-window");
  cellar("createtable u families=f");
  cellar("altertable t compaction=automatic dead-slack=0.2");
  EXPECT_EQ(node_->terminate().value(), 0);
  EXPECT_EQ(format(), "cellar format 1");
  std::string said;
  EXPECT_EQ(run(fmt::format("{} --data-dir {} --upgrade-format", (bin() / "cellard").string(),
                            path("golden")),
                said),
            0)
      << said;
  ASSERT_TRUE(node_->start());
  cellar("altertable t compaction=tiered");
  EXPECT_TRUE(has_compaction("t", "tiered"));
  EXPECT_EQ(rows_of_t(), 20u);
}

// No token is generated there, so the command works as before.
TEST_F(OldDirectory, OneOfFormatOneTakesNoTokensOfRangeDeletes) {
  ASSERT_NO_FATAL_FAILURE(unpack("data_directory_format_1"));
  EXPECT_NE(cellar("droprows t prefix=logged token=x", false).find("keeps no tokens"),
            std::string::npos);
  EXPECT_EQ(rows_of_t(), 20u);
  cellar("droprows t prefix=logged");
  EXPECT_EQ(rows_of_t(), 10u);
  EXPECT_EQ(node_->terminate().value(), 0);
  EXPECT_EQ(format(), "cellar format 1");
}

// Written by a program that did not refuse it.
TEST_F(OldDirectory, OneOfFormatOneKeepsTheChoiceOfCompactionThatATableHas) {
  ASSERT_NO_FATAL_FAILURE(unpack("data_directory_format_1_compaction"));
  EXPECT_TRUE(has_compaction("t", "tiered"));
  expect_refused("altertable t compaction=time-window");
  cellar("altertable t dead-slack=0.2 compaction=tiered");
  node_->kill_now();
  ASSERT_TRUE(node_->start());
  EXPECT_TRUE(has_compaction("t", "tiered"));
  EXPECT_EQ(rows_of_t(), 20u);
  cellar("deletetable t");
  cellar("restoretable t");
  EXPECT_TRUE(has_compaction("t", "tiered"));
  cellar("altertable t compaction=automatic");
  EXPECT_FALSE(has_compaction("t", "tiered"));
  expect_refused("altertable t compaction=tiered");
  EXPECT_EQ(rows_of_t(), 20u);
  EXPECT_EQ(node_->terminate().value(), 0);
  EXPECT_EQ(format(), "cellar format 1");
}

}  // namespace
}  // namespace cellar::process
