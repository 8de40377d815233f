// The runner of acceptance cases: what it plays and what it skips; a case with parts that the
// runner does not understand never passes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cases/player.h"

namespace cellar {
namespace {
namespace fs = std::filesystem;

const std::string kMutate = R"({"mutate": {"table": "t", "row": "r", "ops": [
    {"set": {"column": "f:q", "ts": 1000, "value": "v"}}]}})";
const std::string kRead = R"({"read": {"table": "t"}, "expect": [["r", "f:q", 1000, "v"]]})";

std::string create(const std::string& members = R"("families": {"f": {}})") {
  return R"({"create_table": {"name": "t", )" + members + "}}";
}

class RunCases : public ::testing::Test {
 protected:
  RunCases() { fs::create_directories(scratch_); }
  ~RunCases() override { fs::remove_all(scratch_); }

  // Plays a file with this text; returns the exit code, with the output in out_.
  int play_text(const std::string& text, const std::string& options = "") {
    const std::string file = scratch_ / "file.json";
    std::ofstream(file) << text;
    const fs::path nodes = scratch_ / "nodes";
    fs::remove_all(nodes);  // files of a failed case
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "run_cases";
    const std::string command =
        fmt::format("{} --scratch {} {} {} 2>&1", program.string(), nodes.string(), options, file);
    out_.clear();
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[512];
    while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) out_.append(buffer, n);
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Plays one case of these steps in plain mode.
  int play(std::initializer_list<std::string> steps, const std::string& options = "") {
    std::string list;
    for (const std::string& step : steps) list += (list.empty() ? "" : ", ") + step;
    return play_text(R"({"cases": [{"name": "one", "now": 1000000000000, "modes": ["plain"],)"
                     R"( "steps": [)" +
                         list + "]}]}",
                     options);
  }
  bool printed(const std::string& text) const { return out_.find(text) != std::string::npos; }

  const fs::path scratch_ = fs::temp_directory_path() / fmt::format("run_cases_test.{}", getpid());
  std::string out_;
};

TEST_F(RunCases, ACaseThatHoldsPasses) {
  EXPECT_EQ(play({create(), kMutate, kRead}), 0) << out_;
  EXPECT_TRUE(printed("PASS one [plain]\n1 passed, 0 failed, 0 skipped\n")) << out_;
}

TEST_F(RunCases, ADifferenceFails) {
  EXPECT_EQ(play({create(), kRead}), 1);
  EXPECT_TRUE(printed("FAIL one [plain]: step 2 (read): cell 0 is missing")) << out_;
  EXPECT_EQ(play({create(), create()}), 1) << "an error that is not expected";
  EXPECT_EQ(play({R"({"drop_table": "t"})"}), 1);
  EXPECT_EQ(play({R"({"drop_table": "t", "error": "ALREADY_EXISTS"})"}), 1);
  EXPECT_EQ(play({R"({"drop_table": "t", "error": "NOT_FOUND"})"}), 0) << out_;
}

TEST_F(RunCases, AnUnknownVerbIsSkippedAndFailsOnlyWhereNothingMayBeSkipped) {
  const std::string unknown = R"({"teleport": {"to": "x"}, "expect": true})";
  EXPECT_EQ(play({create(), unknown}), 0) << out_;
  EXPECT_TRUE(
      printed("UNSUPPORTED one [plain]: the runner does not know the step 'teleport'\n"
              "0 passed, 0 failed, 1 skipped\n"))
      << out_;
  EXPECT_EQ(play({create(), unknown}, "--strict"), 1);
}

TEST_F(RunCases, AnUnknownKeyInsideAKnownVerbFails) {
  for (const std::string& step :
       {create(R"("families": {"f": {"colour": "red"}})"),
        create(R"("families": {"f": {"timestamps": "space"}})"),
        create(R"("families": {"f": {"born_dead": "perhaps"}})"),
        create(R"("families": {"f": {"write_window": {"unit": "hours"}}})"),
        create(R"("families": {"f": {}}, "profile": "hbase")"),
        create(R"("families": {"f": {}}, "granularity": "nanos")"),
        create(R"("families": {"f": {}}, "colour": "red")"),
        create(R"("families": ["f"])"),
        std::string(R"({"read": {"table": "t", "colour": 1}, "expect": []})"),
        std::string(R"({"read": {"table": "t"}, "colour": 1, "expect": []})"),
        std::string(R"({"read": {"table": "t", "filter": {"colour": 1}}, "expect": []})"),
        std::string(R"({"read": {"table": "t", "filter": {"pass": false}}, "expect": []})"),
        std::string(R"({"read": {"table": "t", "filter": {"value_range": {"family": "f"}}},
                        "expect": []})"),
        std::string(R"({"restart": true, "expect": []})"),
        std::string(R"({"mutate": {"table": "t", "row": "r", "ops": [{}]}})"),
        std::string(R"({"mutate": {"table": "t", "row": "r", "ops": [{"delete_row": false}]}})"),
        std::string(R"({"mutate": {"table": "t", "row": 5, "ops": []}})"),
        std::string(R"({"mutate": {"table": "t", "row": "r", "ops": [
            {"delete_row": true, "delete_family": "f"}]}})"),
        std::string(R"({"read_modify_write": {"table": "t", "row": "r", "rules": [
            {"append": {"column": "f:q", "value": "v", "by": 1}}]}})"),
        std::string(R"({"mutate": {}, "read": {"table": "t"}})"),
        std::string("{}")}) {
    EXPECT_EQ(play({create(), step}), 1) << step << out_;
    EXPECT_TRUE(printed("0 passed, 1 failed, 0 skipped")) << step << out_;
  }
}

// The file is checked as a whole before it is played: a step that would not be reached too.
TEST_F(RunCases, AFaultBehindAnUnknownVerbOrAFailingStepIsReported) {
  const std::string bad = R"({"flush": {"table": "t"}})";
  for (const std::string& first :
       {std::string(R"({"teleport": {"to": "x"}})"), std::string(R"({"drop_table": "t"})")}) {
    EXPECT_EQ(play({first, bad}), 1) << out_;
    EXPECT_TRUE(printed("FAIL one [plain]: step 2")) << out_;
  }
}

TEST_F(RunCases, AnAnswerThatNothingIsExpectedOfFails) {
  const std::string read = R"("read": {"table": "t"})";
  for (const std::string& step :
       {"{" + read + "}", "{" + read + R"(, "expect": [], "error": "NOT_FOUND"})",
        "{" + read + R"(, "error": "OK"})",
        std::string(R"({"mutate": {"table": "t", "row": "r", "ops": []}, "error": "OK"})"),
        std::string(R"({"sample_keys": "t"})"),
        std::string(R"({"sample_keys": "t", "expect": []})"),
        std::string(R"({"check_and_mutate": {"table": "t", "row": "r", "then": [], "else": []}})"),
        std::string(R"({"read_modify_write": {"table": "t", "row": "r", "rules": []}})"),
        std::string(R"({"preview": {"table": "t", "family": "f", "rule": null}})"),
        std::string(R"({"preview": {"table": "t", "family": "f", "rule": null}, "expect": {}})")}) {
    EXPECT_EQ(play({create(), step}), 1) << step << out_;
    EXPECT_TRUE(printed("FAIL one [plain]: step 2")) << step << out_;
  }
}

// A parser keeps one of two members of a name, so that a step or an expectation would be lost.
TEST_F(RunCases, AKeyThatStandsTwiceFails) {
  EXPECT_EQ(play({create(), R"({"read": {"table": "t"}, "expect": [["a", "f:q", 1, "v"]],
                               "expect": []})"}),
            1)
      << out_;
  EXPECT_TRUE(printed("stands twice")) << out_;
  EXPECT_EQ(play({create(), R"({"mutate": {"table": "t", "row": "a:\"{:", "ops": [
      {"set": {"column": "f::", "ts": 1000, "value": "\\"}}]}})"}),
            0)
      << out_;
}

TEST(JudgeAStep, UnimplementedFailsUnlessItIsExpected) {
  cases::Step step;
  const cases::Played refused{Error(Errc::unimplemented, "operation 999 does not exist"), ""};
  EXPECT_EQ(cases::judge(step, refused),
            "answered UNIMPLEMENTED, expected OK: operation 999 does not exist");
  step.error = "INVALID_ARGUMENT";
  EXPECT_NE(cases::judge(step, refused), "");
  step.error = "UNIMPLEMENTED";
  EXPECT_EQ(cases::judge(step, refused), "");
  EXPECT_NE(cases::judge(step, {}), "") << "an error is expected and there is none";
}

TEST_F(RunCases, AFaultOfOneCaseLeavesTheOthers) {
  const std::string good =
      R"({"name": "good", "now": 1000000, "modes": ["plain"], "steps": [)" + create() + "]}";
  EXPECT_EQ(play_text(R"({"cases": [{"name": "bad", "now": 1000000, "colour": 1, "steps": []}, )" +
                      good + "]}"),
            1);
  EXPECT_TRUE(printed("FAIL bad")) << out_;
  EXPECT_TRUE(printed("PASS good [plain]")) << out_;
}

TEST_F(RunCases, WhatPlaysNothingFails) {
  for (
      const char* text :
      {"", "{}", "[]", R"({"cases": []})", R"({"cases": {}})", R"({"case": []})",
       R"({"cases": [{"name": "a", "now": 1, "steps": []}]})",
       R"({"cases": [{"name": "a", "now": 1, "modes": [], "steps": [{"restart": true}]}]})",
       R"({"cases": [{"name": "a", "now": 1, "modes": ["fast"], "steps": [{"restart": true}]}]})"}) {
    EXPECT_EQ(play_text(text), 1) << text << out_;
  }
  EXPECT_EQ(play({create()}, "--only absent"), 1) << "no case has the name";
}

TEST_F(RunCases, EveryModeIsPlayed) {
  EXPECT_EQ(play_text(R"({"cases": [{"name": "one", "now": 1000000000000, "steps": [)" + create() +
                      ", " + kMutate + ", " + kRead + "]}]}"),
            0)
      << out_;
  for (const char* mode : {"plain", "flush", "compact", "restart"}) {
    EXPECT_TRUE(printed(fmt::format("PASS one [{}]\n", mode))) << out_;
  }
}

}  // namespace
}  // namespace cellar
