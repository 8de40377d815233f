// The example programs of the client, run against a real node: each checks the data that it reads
// and reports the result by its exit code.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "io/base/check.h"
#include "tests/cases/node_process.h"

namespace cellar::process {
namespace {
namespace fs = std::filesystem;

constexpr int kSkip = 77;  // the node does not support the operation yet

class Example : public testing::TestWithParam<const char*> {
 protected:
  static fs::path bin() { return fs::read_symlink("/proc/self/exe").parent_path(); }

  static void SetUpTestSuite() {
    scratch_ = fs::temp_directory_path() / fmt::format("examples_test.{}", getpid());
    fs::create_directories(scratch_);
    node_ = std::make_unique<cases::NodeProcess>(
        bin() / "cellard", scratch_ / "data",
        std::vector<std::string>{"--shards", "2", "--memory-total", "256MiB"});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
  }
  static void TearDownTestSuite() {
    node_.reset();
    fs::remove_all(scratch_);
  }
  struct Ended {
    int code = -1;
    std::string output;
  };
  static Ended run(const std::string& program) {
    const std::string command = fmt::format("'{}' '{}' 2>&1", program, node_->address());
    FILE* pipe = popen(command.c_str(), "r");
    CHECK(pipe != nullptr, "{} cannot be started", program);
    Ended ended;
    std::array<char, 4096> piece;
    while (const size_t n = fread(piece.data(), 1, piece.size(), pipe)) {
      ended.output.append(piece.data(), n);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    return ended;
  }

  static fs::path scratch_;
  static std::unique_ptr<cases::NodeProcess> node_;
};

fs::path Example::scratch_;
std::unique_ptr<cases::NodeProcess> Example::node_;

TEST_P(Example, DoesWhatItSays) {
  // Twice: the second run finds the data of the first.
  for (int round = 0; round < 2; ++round) {
    const Ended ended = run(bin() / GetParam());
    if (ended.code == kSkip) GTEST_SKIP() << ended.output;
    ASSERT_EQ(ended.code, 0) << ended.output;
    EXPECT_FALSE(ended.output.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Example,
                         testing::Values("cellar_quickstart", "cellar_example_point",
                                         "cellar_example_scan", "cellar_example_batch",
                                         "cellar_example_tables", "cellar_example_conditional",
                                         "cellar_example_pipeline", "cellar_example_index",
                                         "cellar_example_timeseries"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cellar::process
