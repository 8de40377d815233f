// Plays the tutorial of the command line: each command of net/cli/TUTORIAL.md is typed at a
// terminal with a real node, and its output must equal the page. Each chapter ("## ") has its own
// node, whose clock the page sets:
//
//   <!-- clock: 2025-04-30T09:00:00Z -->        advances both clocks to this time
//   <!-- wall clock: 2025-06-10T09:00:00Z -->   moves only the wall clock
//
// Questions are answered with y. CELLAR_UPDATE_GOLDEN=1 writes the output to the page.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/sim/manual_clock.h"
#include "net/cli/text/times.h"
#include "net/cli/text/words.h"
#include "tests/cases/clock_control.h"
#include "tests/cases/node_process.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {
namespace fs = std::filesystem;

class Chapter {
 public:
  Chapter() { set_program_clock(&clock_); }
  ~Chapter() {
    set_program_clock(nullptr);
    node_.reset();
    fs::remove_all(dir_);
  }
  Chapter(const Chapter&) = delete;
  Chapter& operator=(const Chapter&) = delete;

  void pass_to(int64_t us) {
    if (!node_) return start(us);
    clock_.advance_us(us - clock_.wall_us());
    tell();
  }
  void jump_to(int64_t us) {
    clock_.set_wall_us(us);
    tell();
  }
  std::string type(const std::string& command) {
    auto words = split_words(command);
    EXPECT_TRUE(words && words->size() > 1 && words->front() == "cellar" && node_) << command;
    if (!words || words->empty() || !node_) return {};
    words->erase(words->begin());
    std::string out = at_terminal(*words, "y\n").out;
    // The terminal echoes the typed text.
    const std::string question = "[y/N] ";
    const size_t at = out.find(question);
    if (at != std::string::npos) out.insert(at + question.size(), "y\n");
    return out;
  }

 private:
  void start(int64_t us) {
    clock_ = ManualClock(us, 1'000'000'000);
    fs::create_directories(dir_);
    const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
    node_ = std::make_unique<cases::NodeProcess>(
        bin / "cellard_testclock", dir_ / "data",
        std::vector<std::string>{"--shards", "1", "--memory-total", "128MiB", "--test-wall-us",
                                 fmt::format("{}", us)});
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    ::setenv("CELLAR_ADDR", node_->address().c_str(), 1);
  }
  void tell() {
    const auto told = cases::set_node_clock(
        node_->address(), {.wall_us = clock_.wall_us(), .boot_us = clock_.boot_us()});
    ASSERT_TRUE(told) << told.error().message;
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("tutorial_test.{}", getpid());
  ManualClock clock_;
  std::unique_ptr<cases::NodeProcess> node_;
};

// The time in "<!-- NAME: TIME -->".
std::optional<int64_t> directive(const std::string& line, const std::string& name) {
  const std::string head = "<!-- " + name + ": ";
  if (!line.starts_with(head) || !line.ends_with(" -->")) return std::nullopt;
  const auto us = parse_time(line.substr(head.size(), line.size() - head.size() - 4), 0);
  EXPECT_TRUE(us) << line;
  return us ? std::optional(*us) : std::nullopt;
}

TEST(Tutorial, IsWhatHappens) {
  const std::string path = std::string(CELLAR_SOURCE_DIR) + "/net/cli/TUTORIAL.md";
  std::ifstream file(path);
  ASSERT_TRUE(file);
  std::optional<Chapter> chapter;
  std::string page;  // with the actual output
  std::string command, expected;
  size_t commands = 0;
  bool in_console = false;
  const auto play = [&] {
    if (command.empty()) return;
    ++commands;
    const std::string printed = chapter ? chapter->type(command) : "";
    EXPECT_EQ(printed, expected) << command;
    page += printed;
    command.clear();
    expected.clear();
  };
  for (std::string line; std::getline(file, line);) {
    if (in_console && (line.starts_with("$ ") || line == "```")) play();
    if (in_console && line == "```") in_console = false;
    if (in_console && !line.starts_with("$ ")) {
      expected += line + "\n";
      continue;
    }
    if (in_console) command = line.substr(2);
    if (line == "```console") in_console = true;
    if (line.starts_with("## ")) {
      chapter.reset();
      chapter.emplace();
    }
    if (const auto us = directive(line, "clock"); us && chapter) chapter->pass_to(*us);
    if (const auto us = directive(line, "wall clock"); us && chapter) chapter->jump_to(*us);
    page += line + "\n";
  }
  chapter.reset();
  EXPECT_GT(commands, 40u);
  if (std::getenv("CELLAR_UPDATE_GOLDEN")) std::ofstream(path) << page;
}

}  // namespace
}  // namespace cellar::cli
