// run_cases: plays acceptance cases (README.md in this directory) against a real node.
#include <unistd.h>

#include <algorithm>
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
  int played() const { return passed + failed + skipped; }
};

struct Settings {
  std::vector<std::string> files;
  std::string node;
  std::string only;
  std::string scratch;
  std::vector<std::string> modes;  // empty: all
  bool strict = false;
};

void count(const Case& c, Mode mode, const Outcome& outcome, Tally& tally) {
  const char* word = "PASS";
  if (outcome.kind == Outcome::Kind::fail) word = "FAIL", ++tally.failed;
  if (outcome.kind == Outcome::Kind::unsupported) word = "UNSUPPORTED", ++tally.skipped;
  if (outcome.kind == Outcome::Kind::pass) ++tally.passed;
  std::printf("%s %s [%s]%s%s\n", word, c.name.c_str(), std::string(mode_name(mode)).c_str(),
              outcome.what.empty() ? "" : ": ", outcome.what.c_str());
  std::fflush(stdout);
}

bool is_asked_for(Mode mode, const Settings& settings) {
  const std::vector<std::string>& modes = settings.modes;
  return modes.empty() || std::find(modes.begin(), modes.end(), mode_name(mode)) != modes.end();
}

void play_file(const std::string& path, const Settings& settings, Player& player, Tally& tally) {
  const auto cases = read_case_file(path);
  if (!cases) {
    std::printf("FAIL %s: %s\n", path.c_str(), cases.error().message.c_str());
    ++tally.failed;
    return;
  }
  for (const Case& c : *cases) {
    if (c.name.find(settings.only) == std::string::npos) continue;
    for (Mode mode : c.modes) {
      if (is_asked_for(mode, settings)) count(c, mode, player.play(c, mode), tally);
    }
  }
}

// Where the nodes' data goes: memory if there is enough, because a node that is killed loses
// nothing of a file system's cache, and flushes are most of what a case waits for.
std::filesystem::path default_scratch() {
  constexpr uintmax_t kEnoughBytes = 1u << 30;
  const std::filesystem::path memory = "/dev/shm";
  std::error_code none;
  const auto space = std::filesystem::space(memory, none);
  const bool usable =
      !none && space.available >= kEnoughBytes && ::access(memory.c_str(), W_OK) == 0;
  return (usable ? memory : std::filesystem::temp_directory_path()) /
         fmt::format("run_cases.{}", getpid());
}

// No case failed, at least one was played, and with --strict none was skipped.
bool is_good(const Tally& tally, const Settings& settings) {
  if (tally.played() == 0) std::printf("FAIL: no case was played\n");
  return tally.failed == 0 && tally.played() > 0 && (!settings.strict || tally.skipped == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  Settings settings;
  settings.node = here / "cellard_testclock";
  settings.scratch = default_scratch();
  CLI::App app(
      "Plays acceptance cases against a real node, each in four modes: plain, flush, compact, "
      "restart.",
      "run_cases");
  app.add_option("files", settings.files, "Case files (JSON)")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--node", settings.node, "The node to start; built with the clock control")
      ->capture_default_str();
  app.add_option("--only", settings.only, "Play only cases whose name contains this");
  std::vector<std::string> names;
  for (const Mode mode : kAllModes) names.emplace_back(mode_name(mode));
  app.add_option("--modes", settings.modes, "Play only these modes, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names));
  app.add_flag("--strict", settings.strict, "A case that is skipped fails too");
  app.add_option("--scratch", settings.scratch,
                 "Folder for the nodes' data; removed unless a case fails")
      ->capture_default_str();
  app.footer(
      "One line a case and mode: PASS, FAIL or UNSUPPORTED. Exit codes: 0 nothing failed, 1 "
      "something did or nothing was played, 2 usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::filesystem::create_directories(settings.scratch);
  Player player(settings.node, settings.scratch);
  Tally tally;
  for (const std::string& file : settings.files) play_file(file, settings, player, tally);
  if (tally.failed == 0) std::filesystem::remove_all(settings.scratch);
  const bool good = is_good(tally, settings);
  std::printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  return good ? 0 : 1;
}
