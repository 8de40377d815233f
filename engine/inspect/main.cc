// cellar-inspect: prints and verifies the files of a data directory, and export files.
#include <cerrno>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "engine/inspect/inspect_file.h"
#include "engine/inspect/verify_directory.h"
#include "io/disk/blocking_pool.h"
#include "io/disk/pool_fs.h"
#include "io/loop/shard_loop.h"

namespace {

using cellar::engine::Dump;
using cellar::engine::DumpForm;
using cellar::engine::DumpOptions;

constexpr int kExitWhole = 0;
constexpr int kExitDamaged = 1;  // damage was found, or a file could not be read completely
constexpr int kExitUsage = 2;    // also: no such file, or not one of Cellar's
constexpr int kExitLost = 3;     // the output could not be written

struct Arguments {
  std::vector<std::string> paths;
  bool json = false;
  bool entries = false;
};

constexpr auto kAbout =
    "Prints and verifies the files of a Cellar data directory: tables (blob/*.sst), log segments\n"
    "(log/*.seg), manifests (manifest/*.manifest) and their pointer (manifest/CURRENT); and what\n"
    "`cellar export` writes (*.cellar). Only reads. engine/FORMATS.md describes the bytes.";
constexpr auto kDumpAbout =
    "Print a file, every part labelled. Checksums are verified on the way; damage is told where it "
    "is\nmet. Safe beside a running node, whose newest writes may be seen in part.";
constexpr auto kVerifyAbout =
    "Say nothing but what is damaged. A directory is a whole data directory, and its node must "
    "not\n"
    "run: every file is verified, then that the manifest's tables are there and of their size,\n"
    "that logs have no gap, and that the tablets of each table cover its rows. Files that no "
    "tablet\nnames are told as notes and are no damage.";
constexpr auto kExits =
    "Exit status: 0 whole; 1 damage was found (each finding is a line that begins with PROBLEM, "
    "or\n"
    "an object with a \"problem\" under --json); 2 usage, no such file, or none of Cellar's; 3 "
    "the\n"
    "output could not be written.\n\n"
    "Examples:\n"
    "  cellar-inspect dump --entries blob/000000000400001a.sst\n"
    "  cellar-inspect verify /var/lib/cellar\n"
    "  cellar-inspect verify --json packages.cellar";

// A file system for the directory of a path.
cellar::Result<void> on_path(cellar::ShardLoop& loop, cellar::BlockingPool& pool,
                             const std::filesystem::path& path, DumpOptions options, Dump& dump) {
  if (std::filesystem::is_directory(path)) {
    TRY(auto fs, cellar::PoolFs::create(loop, path.string(), pool));
    return cellar::block_on(loop, cellar::engine::verify_directory(*fs, dump));
  }
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  TRY(auto fs, cellar::PoolFs::create(loop, parent, pool));
  return cellar::block_on(
      loop, cellar::engine::inspect_file(*fs, path.filename().string(), options, dump));
}

int exit_of(const cellar::Error& error) {
  switch (error.code) {
    case cellar::Errc::invalid_argument:
    case cellar::Errc::not_found:
    case cellar::Errc::failed_precondition:
      return kExitUsage;
    default:
      return kExitDamaged;
  }
}

int run(const Arguments& arguments, bool verify) {
  int exit = kExitWhole;
  const auto complain = [&](const std::string& path, std::string_view why, int code) {
    std::cout.flush();
    std::cerr << "cellar-inspect: " << path << ": " << why << "\n";
    exit = std::max(exit, code);
  };
  DumpForm form = arguments.json ? DumpForm::json : DumpForm::text;
  if (verify) form = arguments.json ? DumpForm::problems_json : DumpForm::problems_only;
  const auto dump = cellar::engine::make_dump(form, std::cout);
  const DumpOptions options{.entries = arguments.entries || verify};
  cellar::BlockingPool pool(1);
  {
    cellar::ShardLoop loop;
    for (const std::string& path : arguments.paths) {
      std::error_code missing;
      if (!std::filesystem::exists(path, missing)) {
        complain(path, "there is no such file", kExitUsage);
      } else if (!verify && std::filesystem::is_directory(path)) {
        complain(path, "is a directory; verify takes one", kExitUsage);
      } else if (auto done = on_path(loop, pool, path, options, *dump); !done) {
        complain(path, done.error().to_string(), exit_of(done.error()));
      }
    }
    pool.stop();
  }
  return dump->problems() > 0 ? kExitDamaged : exit;
}

constexpr int kParsed = -1;

// Otherwise the exit code: 0 after --help.
int parse(CLI::App& app, int argc, char** argv) {
  CLI11_PARSE(app, argc, argv);
  return kParsed;
}

int inspect(int argc, char** argv) {
  CLI::App app{kAbout, "cellar-inspect"};
  app.footer(kExits);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  Arguments arguments;
  CLI::App* dump = app.add_subcommand("dump", kDumpAbout);
  CLI::App* verify = app.add_subcommand("verify", kVerifyAbout);
  dump->add_option("FILE", arguments.paths, "Files to print")->required();
  verify->add_option("DIR|FILE", arguments.paths, "Data directories and files")->required();
  dump->add_flag("--entries", arguments.entries,
                 "Every entry of every block and record, with its bytes");
  for (CLI::App* command : {dump, verify}) {
    command->footer(kExits);
    command->add_flag("--json", arguments.json,
                      "One JSON object a line: a file, a section, a field, a note or a problem");
  }
  const int code = parse(app, argc, argv);
  if (code != kParsed) return code == 0 ? kExitWhole : kExitUsage;
  return run(arguments, verify->parsed());
}

// Flushes the output; a failure must not look like a verified file.
int finish(int code) {
  std::cout.flush();
  if (std::cout.good()) return code;
  if (errno != EPIPE) std::cerr << "cellar-inspect: not all of the output could be written\n";
  return kExitLost;
}

}  // namespace

int main(int argc, char** argv) { return finish(inspect(argc, argv)); }
