// run_cases: plays acceptance cases (README.md beside this file) against a real node.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "tests/cases/player.h"

namespace {

using namespace cellar;
using namespace cellar::cases;

struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

void play_file(const std::string& path, const std::string& only, Player& player, Tally& tally) {
  const auto cases = read_case_file(path);
  if (!cases) {
    std::printf("FAIL %s: %s\n", path.c_str(), cases.error().message.c_str());
    ++tally.failed;
    return;
  }
  for (const Case& c : *cases) {
    if (!only.empty() && c.name.find(only) == std::string::npos) continue;
    for (Mode mode : c.modes) {
      const Outcome outcome = player.play(c, mode);
      const char* word = "PASS";
      if (outcome.kind == Outcome::Kind::fail) word = "FAIL", ++tally.failed;
      if (outcome.kind == Outcome::Kind::unsupported) word = "UNSUPPORTED", ++tally.skipped;
      if (outcome.kind == Outcome::Kind::pass) ++tally.passed;
      std::printf("%s %s [%s]%s%s\n", word, c.name.c_str(), std::string(mode_name(mode)).c_str(),
                  outcome.what.empty() ? "" : ": ", outcome.what.c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> files;
  std::string node = here / "cellard_testclock";
  std::string only;
  std::string scratch =
      std::filesystem::temp_directory_path() / fmt::format("run_cases.{}", getpid());
  CLI::App app(
      "Plays acceptance cases against a real node, each in four modes: plain, flush, compact, "
      "restart.",
      "run_cases");
  app.add_option("files", files, "Case files (JSON)")->required()->check(CLI::ExistingFile);
  app.add_option("--node", node, "The node to start; built with the clock control")
      ->capture_default_str();
  app.add_option("--only", only, "Play only cases whose name contains this");
  app.add_option("--scratch", scratch, "Folder for the nodes' data; removed unless a case fails")
      ->capture_default_str();
  app.footer(
      "One line a case and mode: PASS, FAIL or UNSUPPORTED. Exit codes: 0 nothing failed, 1 "
      "something did, 2 usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::filesystem::create_directories(scratch);
  Player player(node, scratch);
  Tally tally;
  for (const std::string& file : files) play_file(file, only, player, tally);
  if (tally.failed == 0) std::filesystem::remove_all(scratch);
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed == 0 ? 0 : 1;
}
