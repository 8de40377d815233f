// cellar-inspect: prints and verifies the files of a data directory, and export files.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "engine/inspect/inspect_file.h"
#include "engine/inspect/summary.h"
#include "engine/inspect/verify_directory.h"
#include "engine/repair/repair.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/format_file.h"
#include "io/disk/backend.h"
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
constexpr int kExitNothing = 4;  // repair: the new directory is not complete

enum class Command : uint8_t { dump, verify, summary, repair };

struct Arguments {
  Command command = Command::dump;
  std::vector<std::string> paths;
  bool json = false;
  bool entries = false;
  std::string table;  // of the filter; empty: all
  std::optional<std::string> row;
};

constexpr auto kAbout =
    "Prints and verifies the files of a Cellar data directory: tables (blob/*.sst), log segments\n"
    "(log/*.seg), manifests (manifest/*.manifest) and their pointer (manifest/CURRENT), FORMAT;\n"
    "files of backups; and what `cellar export` writes (*.cellar). Only reads; repair writes a "
    "new\n"
    "directory. engine/FORMATS.md describes the bytes.";
constexpr auto kDumpAbout =
    "Print a file, every part labelled. Checksums are verified on the way; damage is told where it "
    "is\nmet. A manifest and a backup are told in words: schemas, rules, tablets, files; with "
    "--entries\n"
    "their bytes beside. With --table or --row only the entries of that table or row are printed, "
    "of\nlogs, tables on disk and manifests, with --row also of exports. Safe beside a running "
    "node,\nwhose newest writes may be seen in part.";
constexpr auto kSummaryAbout =
    "Tell what a data directory holds, by its manifest: tables with their rules, tablets, files, "
    "and "
    "the\nlogs. Safe beside a running node.";
constexpr auto kVerifyAbout =
    "Tell what is damaged, and end with a verdict. A directory is a whole data directory; while a "
    "node\nhas it open it is refused, and no node can open it meanwhile: every file is verified, "
    "of tables\nalso that the entries of their indexes are those of their cells, "
    "then that the manifest's tables are there and of their size,\n"
    "that a start could read the logs, and that the tablets of each table cover its rows. Files "
    "that no\ntablet names and the torn tail of a log are told as notes and are no damage.";
constexpr auto kRepairAbout =
    "Rebuild a data directory whose node does not start: copy what is intact of SOURCE into "
    "NEW_DIR,\n"
    "which is made, or is empty. SOURCE is only read; while a node has it open it is refused. A "
    "damaged\n"
    "block, file or part of a log is left out, and told with its rows or times. A whole manifest "
    "decides\n"
    "what is live. Without one every table on disk and every log goes in, so rows that were dead "
    "may be\n"
    "in NEW_DIR, and a table whose definition is lost gets a made-up name and no rule. NEW_DIR "
    "needs as\n"
    "much room as SOURCE, without a manifest up to twice as much. A repair that fails or is killed "
    "leaves\n"
    "a NEW_DIR that no node opens: remove it. Then: cellar-inspect verify NEW_DIR, and cellard "
    "--data-dir\n"
    "NEW_DIR.";
constexpr auto kRepairExits =
    "Exit status: 0 nothing is lost; 1 recovered, but something is lost or may be dead; 2 usage, "
    "SOURCE\n"
    "is none of Cellar's or a node runs, NEW_DIR is not empty; 3 the output could not be written; "
    "4\n"
    "nothing could be recovered, or NEW_DIR could not be completed.";
constexpr auto kExits =
    "Exit status: 0 whole; 1 damage was found (each finding is a line that begins with PROBLEM, "
    "or\n"
    "an object with a \"problem\" under --json); 2 usage, no such file, none of Cellar's, or a "
    "node "
    "runs; 3 "
    "the\n"
    "output could not be written. Of repair: 0 nothing is lost; 1 recovered in part; 2 as above, "
    "or "
    "NEW_DIR\n"
    "is not empty; 4 nothing could be recovered, or NEW_DIR could not be completed.\n\n"
    "Examples:\n"
    "  cellar-inspect dump --entries blob/000000000400001a.sst\n"
    "  cellar-inspect dump --row user7 --table events log/*.seg\n"
    "  cellar-inspect summary --json /var/lib/cellar\n"
    "  cellar-inspect verify /var/lib/cellar\n"
    "  cellar-inspect verify --json packages.cellar\n"
    "  cellar-inspect repair /var/lib/cellar /var/lib/cellar.new";

constexpr std::string_view kOrABackup = ", or verify a backup: cellar backup verify";

// The lock of a data directory that is verified or repaired: no node has it open, and none can open
// it. Does not change the file. The writes of a killed node hold the lock until they have landed,
// so a lock that is held is tried again for up to FileSystem::kLockRetryMs.
class DirectoryLock {
 public:
  // FAILED_PRECONDITION with the advice: a node has it open.
  static cellar::Result<DirectoryLock> take(const std::filesystem::path& directory,
                                            cellar::ShardLoop& loop, std::string_view advice) {
    const std::filesystem::path path = directory / "LOCK";
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT) return DirectoryLock(-1);
    if (descriptor < 0) {
      return cellar::fail(cellar::Errc::permission_denied, "cannot open {}: {}", path.string(),
                          std::strerror(errno));
    }
    DirectoryLock lock(descriptor);
    constexpr int kRetryEveryMs = 20;
    for (int waited_ms = 0; waited_ms <= cellar::FileSystem::kLockRetryMs;
         waited_ms += kRetryEveryMs) {
      if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) return lock;
      cellar::block_on(loop, cellar::sleep_us(loop.timers(), int64_t{kRetryEveryMs} * 1000));
    }
    std::string pid;
    std::ifstream(path) >> pid;
    return cellar::fail(cellar::Errc::failed_precondition,
                        "a node has it open (process {}); stop it{}", pid, advice);
  }
  DirectoryLock(DirectoryLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

void print_verdict(const Arguments& arguments, const std::string& path, size_t problems,
                   const cellar::engine::VerifiedFiles* files) {
  if (arguments.json) {
    boost::json::object verdict = {
        {"verdict", problems == 0 ? "whole" : "damaged"}, {"path", path}, {"problems", problems}};
    if (files != nullptr) {
      verdict["files"] = files->files;
      verdict["bytes"] = files->bytes;
      verdict["tables"] = files->tables;
      verdict["tablets"] = files->tablets;
    }
    std::cout << boost::json::serialize(verdict) << "\n";
    return;
  }
  std::cout << path << ": "
            << (problems == 0 ? std::string("whole")
                              : fmt::format("DAMAGED, {} problems", problems));
  if (files != nullptr) {
    std::cout << fmt::format("; {} files read, {} tables of {} tablets, {} bytes of tables",
                             files->files, files->tables, files->tablets, files->bytes);
  }
  std::cout << "\n";
}

// INVALID_ARGUMENT: a directory above it is closed to this user, or it is no path at all.
std::unexpected<cellar::Error> not_reached(const std::filesystem::path& path,
                                           const std::error_code& why) {
  return cellar::fail(cellar::Errc::invalid_argument, "{} cannot be reached: {}", path.string(),
                      why.message());
}

// False if there is nothing.
cellar::Result<bool> is_a_directory(const std::filesystem::path& path) {
  std::error_code failed;
  const auto type = std::filesystem::status(path, failed).type();
  if (type == std::filesystem::file_type::none) return not_reached(path, failed);
  return type == std::filesystem::file_type::directory;
}

cellar::Result<std::filesystem::path> canonical_of(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::path found = std::filesystem::weakly_canonical(path, failed);
  if (failed) return not_reached(path, failed);
  return found;
}

// The data directory of a file in one of its folders.
cellar::Result<std::filesystem::path> directory_of(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(file, failed);
  if (failed) return not_reached(file, failed);
  return whole.parent_path().parent_path();
}

class Inspection {
 public:
  Inspection(const Arguments& arguments, Dump& dump) : arguments_(arguments), dump_(dump) {}

  cellar::Result<void> look_at(const std::string& path) {
    TRY(const bool directory, is_a_directory(path));
    switch (arguments_.command) {
      case Command::summary:
        if (!directory) return refuse("is no directory; summary takes one");
        return summarize(path);
      case Command::verify:
        return directory ? verify_directory(path) : verify_file(path);
      case Command::repair:
        return refuse("repair takes two directories");
      case Command::dump:
        if (directory) return refuse("is a directory; summary and verify take one");
        return dump_file(path);
    }
    return {};
  }
  // Repairs the first path into the second one.
  cellar::Result<cellar::engine::RepairReport> repair() {
    const std::filesystem::path source = arguments_.paths[0];
    const std::filesystem::path target = arguments_.paths[1];
    TRY(const bool directory, is_a_directory(source));
    if (!directory) return refuse_path("is no directory");
    TRY_VOID(check_target(source, target));
    TRY(const DirectoryLock lock, DirectoryLock::take(source, loop_, ""));
    TRY(auto from, cellar::PoolFs::create(loop_, source.string(), pool_));
    TRY_VOID(cellar::block_on(loop_, cellar::engine::check_source(*from)));
    TRY_VOID(cellar::make_root_directory(target.string()));
    TRY(auto to, cellar::PoolFs::create(loop_, target.string(), pool_));
    TRY(const auto held, cellar::block_on(loop_, to->lock("LOCK")));
    cellar::engine::RepairOptions options{.id = cellar::engine::new_directory_id(),
                                          .progress = Progress(loop_.timers())};
    return cellar::block_on(
        loop_, cellar::engine::repair_directory(*from, *to, loop_.timers(), loop_.executor(),
                                                std::move(options)));
  }
  void stop() { pool_.stop(); }

 private:
  // Tells on the error output where a long repair is, now and then.
  class Progress {
   public:
    static constexpr int64_t kEveryUs = 5'000'000;
    explicit Progress(cellar::Timers& timers) : timers_(&timers), told_us_(timers.now_us()) {}
    void operator()(const std::string& sentence) {
      if (timers_->now_us() < told_us_ + kEveryUs) return;
      told_us_ = timers_->now_us();
      std::cerr << "cellar-inspect: " << sentence << "\n";
    }

   private:
    cellar::Timers* timers_;
    int64_t told_us_;
  };

  static std::unexpected<cellar::Error> refuse_path(std::string why) {
    return std::unexpected(cellar::Error(cellar::Errc::invalid_argument, std::move(why)));
  }

  static cellar::Result<void> check_target(const std::filesystem::path& source,
                                           const std::filesystem::path& target) {
    TRY(const bool directory, is_a_directory(target));
    std::error_code failed;
    if (std::filesystem::exists(target, failed) &&
        (!directory || !std::filesystem::is_empty(target, failed))) {
      return refuse_path(fmt::format("{} is not an empty directory", target.string()));
    }
    TRY(const std::filesystem::path outer, canonical_of(source));
    TRY(std::filesystem::path at, canonical_of(target));
    for (;; at = at.parent_path()) {
      if (at == outer) {
        return refuse_path(
            fmt::format("{} is in it; the source is not written to", target.string()));
      }
      if (at == at.parent_path()) return {};
    }
  }

  static cellar::Result<void> refuse(const char* why) {
    return cellar::fail(cellar::Errc::invalid_argument, "{}", why);
  }

  cellar::Result<void> summarize(const std::string& path) {
    TRY(auto fs, cellar::PoolFs::create(loop_, path, pool_));
    return cellar::block_on(loop_,
                            cellar::engine::summarize_directory(*fs, arguments_.json, std::cout));
  }

  cellar::Result<void> verify_directory(const std::string& path) {
    TRY(const DirectoryLock lock, DirectoryLock::take(path, loop_, kOrABackup));
    const size_t before = dump_.problems();
    TRY(auto fs, cellar::PoolFs::create(loop_, path, pool_));
    TRY(const auto files, cellar::block_on(loop_, cellar::engine::verify_directory(*fs, dump_)));
    print_verdict(arguments_, path, dump_.problems() - before, &files);
    return {};
  }

  cellar::Result<void> verify_file(const std::string& path) {
    const size_t before = dump_.problems();
    const cellar::engine::IndexesByTable indexes = indexes_beside(path);
    TRY_VOID(inspect(path, {.entries = true, .filter = {}, .indexes = &indexes}, dump_));
    print_verdict(arguments_, path, dump_.problems() - before, nullptr);
    return {};
  }

  cellar::Result<void> dump_file(const std::string& path) {
    const cellar::engine::IndexesByTable indexes = indexes_beside(path);
    DumpOptions options{.entries = arguments_.entries, .filter = {}, .indexes = &indexes};
    if (arguments_.table.empty() && !arguments_.row) return inspect(path, options, dump_);
    options.entries = true;
    if (arguments_.table.empty()) {
      options.filter.row = arguments_.row;
    } else {
      TRY(const std::filesystem::path directory, directory_of(path));
      TRY(auto fs, cellar::PoolFs::create(loop_, directory.string(), pool_));
      TRY(options.filter, cellar::block_on(loop_, cellar::engine::make_filter(*fs, arguments_.table,
                                                                              arguments_.row)));
    }
    const auto entries = cellar::engine::only_entries(dump_);
    return inspect(path, options, *entries);
  }

  // Those of the data directory that has the file as a blob.
  cellar::engine::IndexesByTable indexes_beside(const std::string& path) {
    const auto directory = directory_of(path);
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path, failed);
    if (!directory || failed || whole.parent_path().filename() != cellar::engine::kBlobDirectory)
      return {};
    auto fs = cellar::PoolFs::create(loop_, directory->string(), pool_);
    if (!fs) return {};
    return cellar::block_on(loop_, cellar::engine::read_indexes(**fs));
  }

  cellar::Result<void> inspect(const std::filesystem::path& path, const DumpOptions& options,
                               Dump& dump) {
    const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
    TRY(auto fs, cellar::PoolFs::create(loop_, parent, pool_));
    return cellar::block_on(
        loop_, cellar::engine::inspect_file(*fs, path.filename().string(), options, dump));
  }

  const Arguments& arguments_;
  Dump& dump_;
  cellar::BlockingPool pool_{1};
  cellar::ShardLoop loop_;
};

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

int run(const Arguments& arguments) {
  int exit = kExitWhole;
  const auto complain = [&](const std::string& path, std::string_view why, int code) {
    std::cout.flush();
    std::cerr << "cellar-inspect: " << path << ": " << why << "\n";
    exit = std::max(exit, code);
  };
  DumpForm form = arguments.json ? DumpForm::json : DumpForm::text;
  if (arguments.command == Command::verify) {
    form = arguments.json ? DumpForm::problems_json : DumpForm::problems_only;
  }
  const auto dump = cellar::engine::make_dump(form, std::cout);
  Inspection inspection(arguments, *dump);
  for (const std::string& path : arguments.paths) {
    std::error_code missing;
    if (!std::filesystem::exists(path, missing)) {
      complain(path, "there is no such file", kExitUsage);
    } else if (const auto done = inspection.look_at(path); !done) {
      complain(path, done.error().to_string(), exit_of(done.error()));
    }
  }
  inspection.stop();
  return dump->problems() > 0 ? kExitDamaged : exit;
}

int run_repair(const Arguments& arguments) {
  const auto silent = cellar::engine::make_dump(cellar::engine::DumpForm::problems_only, std::cout);
  Inspection inspection(arguments, *silent);
  const auto report = inspection.repair();
  inspection.stop();
  if (!report) {
    const cellar::Errc code = report.error().code;
    std::cerr << "cellar-inspect: " << arguments.paths[0] << ": " << report.error().to_string()
              << "\n";
    const bool refused =
        code == cellar::Errc::invalid_argument || code == cellar::Errc::failed_precondition;
    return refused ? kExitUsage : kExitNothing;
  }
  print_repair(*report, arguments.json, std::cout);
  if (report->nothing()) return kExitNothing;
  if (!arguments.json) {
    std::cout << fmt::format(
        "{} is a data directory now; next: cellar-inspect verify {}, then "
        "cellard --data-dir {}\n",
        arguments.paths[1], arguments.paths[1], arguments.paths[1]);
  }
  return report->complete() ? kExitWhole : kExitDamaged;
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
  CLI::App* summary = app.add_subcommand("summary", kSummaryAbout);
  CLI::App* verify = app.add_subcommand("verify", kVerifyAbout);
  dump->add_option("FILE", arguments.paths, "Files to print")->required();
  dump->add_option(
      "--table", arguments.table,
      "Entries of this table only, by name or number; the file is in a data directory");
  dump->add_option("--row", arguments.row, "Entries of this row only");
  summary->add_option("DIR", arguments.paths, "Data directories")->required();
  verify->add_option("DIR|FILE", arguments.paths, "Data directories and files")->required();
  dump->add_flag("--entries", arguments.entries,
                 "Every entry of every block and record, with its bytes");
  CLI::App* repair = app.add_subcommand("repair", kRepairAbout);
  std::string source;
  std::string target;
  repair->add_option("SOURCE", source, "The damaged data directory")->required();
  repair->add_option("NEW_DIR", target, "The directory to make")->required();
  repair->add_flag("--json", arguments.json, "One JSON object");
  repair->footer(kRepairExits);
  for (CLI::App* command : {dump, summary, verify}) {
    command->footer(kExits);
    command->add_flag("--json", arguments.json,
                      command == summary ? "One JSON object"
                                         : "One JSON object a line: a file, a section, a field, a "
                                           "note, a problem or a verdict");
  }
  const int code = parse(app, argc, argv);
  if (code != kParsed) return code == 0 ? kExitWhole : kExitUsage;
  if (verify->parsed()) arguments.command = Command::verify;
  if (summary->parsed()) arguments.command = Command::summary;
  if (repair->parsed()) {
    arguments.command = Command::repair;
    arguments.paths = {source, target};
    return run_repair(arguments);
  }
  return run(arguments);
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
