// cellar-sandbox: a shell with a node of its own, whose clock the user moves.
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

#include <CLI/CLI.hpp>

#include "net/cli/program/app.h"
#include "net/cli/text/times.h"
#include "net/sandbox/movable_clock.h"
#include "net/sandbox/node_child.h"
#include "net/sandbox/time_command.h"

namespace cellar::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBootUs = 1'000'000'000;

constexpr const char* kAbout =
    "Starts a node on loopback in a temporary directory, and a shell of `cellar` that talks to "
    "it.\n"
    "Its command `time` moves the node's clock: what dies in two days dies at once with `time "
    "+2d`.\n"
    "Standard input may be a script, as of `cellar shell`. Node and directory are removed at the "
    "end.";

constexpr const char* kGreeting =
    "A node of your own, with a clock that you move. Try:\n"
    "\n"
    "  createtable events families='click:maxage=2d'\n"
    "  set events user7 click:page=/home\n"
    "  set events user8 click:page=/home ttl=1h\n"
    "  read events --explain\n"
    "  time +1h\n"
    "  read events --explain\n"
    "\n";

struct Wishes {
  std::string at;
  bool stand = false;
  std::string http;
};

// A directory that goes away with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = fs::temp_directory_path() / "cellar-sandbox.XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const fs::path& path() const { return path_; }  // empty: it could not be made

 private:
  fs::path path_;
};

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "cellar-sandbox: %s\n", message.c_str());
  return code;
}

// In memory that the node's process shares.
MovableClock* make_clock(int64_t wall_us, bool stands) {
  void* const room = ::mmap(nullptr, sizeof(MovableClock), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* clock = new (room) MovableClock(wall_us, kBootUs);
  if (!stands) clock->run_since(MovableClock::monotonic_us());
  return clock;
}

int run(const Wishes& wishes) {
  int64_t wall_us = SystemClock().wall_us();
  if (!wishes.at.empty()) {
    const auto at_us = cli::parse_time(wishes.at, wall_us);
    if (!at_us) return complain("--at: " + at_us.error().message, cli::kUsage);
    wall_us = *at_us;
  }
  MovableClock* const clock = make_clock(wall_us, wishes.stand);
  const TemporaryDirectory directory;
  if (clock == nullptr || directory.path().empty()) {
    return complain("there is no memory, or no temporary directory can be made", cli::kFailed);
  }
  std::vector<std::string> arguments = {"--listen", "127.0.0.1:0", "--http-listen",  wishes.http,
                                        "--shards", "1",           "--memory-total", "256MiB"};
  const auto node = NodeChild::start(directory.path(), std::move(arguments), *clock);
  if (!node) return complain(node.error().message, cli::kFailed);
  ::setenv("CELLAR_ADDR", (*node)->address().c_str(), 1);
  cli::add_command(time_command(*clock));
  const cli::Console console = cli::Console::of_process();
  if (console.in_is_terminal) console.write(kGreeting);
  return cli::run({"shell"}, console, *clock);
}

}  // namespace
}  // namespace cellar::sandbox

int main(int argc, char** argv) {
  using namespace cellar;
  sandbox::Wishes wishes;
  CLI::App app(sandbox::kAbout, "cellar-sandbox");
  app.set_version_flag("--version", "cellar-sandbox 0.1.0");
  app.add_option("--at", wishes.at, "TIME that it is at the start (default: now)");
  app.add_flag("--stand", wishes.stand, "The clock stands between its moves");
  app.add_option("--http", wishes.http,
                 "HOST:PORT of the node's console, as in 127.0.0.1:7421 (default: none)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : cli::kUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  return sandbox::run(wishes);
}
