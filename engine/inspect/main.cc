// cellar-inspect: prints and verifies the files of a data directory.
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "engine/inspect/inspect_file.h"
#include "io/disk/blocking_pool.h"
#include "io/disk/pool_fs.h"
#include "io/runtime/shard_loop.h"

namespace {

using cellar::engine::Dump;
using cellar::engine::DumpForm;
using cellar::engine::DumpOptions;

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;   // a file could not be read, or is none of ours
constexpr int kExitDamaged = 8;  // damage was found

struct Arguments {
  std::vector<std::string> files;
  bool verify = false;
  bool json = false;
  bool entries = false;
};

constexpr auto kAbout =
    "Prints the files of a Cellar data directory, labelled: tables (blob/*.sst), log segments\n"
    "(log/*.seg) and manifests (manifest/*.manifest). Every checksum is verified on the way.\n"
    "Only reads; safe beside a running server, whose newest writes it may see in part.\n\n"
    "What the bytes mean is described in engine/FORMATS.md.";
constexpr auto kExits =
    "Exit status: 0 all files whole; 1 a file could not be read or is none of Cellar's;\n"
    "8 damage was found (each finding is a line that begins with PROBLEM, or an object\n"
    "with a \"problem\" under --json).\n\n"
    "Examples:\n"
    "  cellar-inspect --entries blob/000000000400001a.sst\n"
    "  cellar-inspect --verify blob/*.sst log/*.seg manifest/*.manifest";

DumpForm form_of(const Arguments& arguments) {
  if (arguments.verify) return arguments.json ? DumpForm::problems_json : DumpForm::problems_only;
  return arguments.json ? DumpForm::json : DumpForm::text;
}

cellar::Result<void> inspect(cellar::ShardLoop& loop, cellar::BlockingPool& pool,
                             const std::string& name, DumpOptions options, Dump& dump) {
  const std::filesystem::path path(name);
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  TRY(auto fs, cellar::PoolFs::create(loop, parent, pool));
  return cellar::block_on(
      loop, cellar::engine::inspect_file(*fs, path.filename().string(), options, dump));
}

int run(const Arguments& arguments) {
  cellar::BlockingPool pool(1);
  int exit = kExitOk;
  {
    cellar::ShardLoop loop;
    const auto dump = cellar::engine::make_dump(form_of(arguments), std::cout);
    const DumpOptions options{.entries = arguments.entries || arguments.verify};
    for (const std::string& file : arguments.files) {
      if (auto done = inspect(loop, pool, file, options, *dump); !done) {
        std::cout.flush();
        std::cerr << "cellar-inspect: " << file << ": " << done.error().to_string() << "\n";
        exit = kExitFailed;
      }
    }
    if (dump->problems() > 0) exit = kExitDamaged;
    pool.stop();
  }
  std::cout.flush();
  return exit;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout, "cellar-inspect"};
  Arguments arguments;
  app.footer(kExits);
  app.add_option("FILE", arguments.files, "Files to look at")->required();
  app.add_flag("--entries", arguments.entries,
               "Every entry of every block and record, with its bytes");
  app.add_flag("--verify", arguments.verify, "Say nothing but what is damaged");
  app.add_flag("--json", arguments.json,
               "One JSON object a line: a file, a section, a field or a problem");
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}
