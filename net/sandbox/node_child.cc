#include "net/sandbox/node_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "net/http/http_companion.h"
#include "net/server/process/program.h"
#include "net/server/process/say.h"

namespace cellar::sandbox {
namespace {

constexpr std::string_view kReady = "cellard: ready on ";
constexpr int64_t kStopUs = 10'000'000;
constexpr timespec kLook{0, 20'000'000};

int open_for_child(const char* path, int flags) { return ::open(path, flags | O_CLOEXEC, 0600); }

// Ctrl-C at the terminal is meant for the shell, and the end of this process for the node.
void leave_terminal(int out, const std::string& log) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(open_for_child("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(open_for_child(log.c_str(), O_WRONLY | O_CREAT | O_APPEND), STDERR_FILENO);
}

int serve(const std::vector<std::string>& arguments, const Clock& clock) {
  server::hold_stop_signals();
  std::vector<const char*> argv = {"cellard"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const char* const environment[] = {nullptr};  // settings of another node
  const auto config =
      server::parse_command_line(static_cast<int>(argv.size()), argv.data(), {}, environment);
  if (!config) {
    server::say(stderr, "cellard: {}\n", config.error().message);
    return server::kExitUsage;
  }
  const auto http = http::make_companion(clock);
  return server::run_node(*config, clock, http.get());
}

// The address of the line "cellard: ready on ..."; empty when the output ends before.
std::string ready_address(int out) {
  std::string text;
  char buffer[512];
  while (true) {
    const ssize_t n = ::read(out, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    text.append(buffer, static_cast<size_t>(n));
    const size_t at = text.find(kReady);
    const size_t end = at == text.npos ? at : text.find('\n', at);
    if (end != text.npos) return text.substr(at + kReady.size(), end - at - kReady.size());
  }
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) last = line;
  return last;
}

}  // namespace

Result<std::unique_ptr<NodeChild>> NodeChild::start(const std::string& directory,
                                                    std::vector<std::string> arguments,
                                                    const Clock& clock) {
  const std::string log = directory + "/node.log";
  arguments.insert(arguments.end(), {"--data-dir", directory + "/data"});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Errc::internal, "pipe: {}", std::strerror(errno));
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Errc::internal, "fork: {}", std::strerror(errno));
  if (pid == 0) {
    leave_terminal(ends[1], log);
    const int code = serve(arguments, clock);
    std::error_code ignored;
    if (code == 0) std::filesystem::remove_all(directory, ignored);
    std::_Exit(code);
  }
  ::close(ends[1]);
  std::unique_ptr<NodeChild> child(new NodeChild(pid));
  child->address_ = ready_address(ends[0]);
  ::close(ends[0]);
  if (child->address_.empty())
    return fail(Errc::unavailable, "the node did not start: {}", last_line(log));
  return child;
}

bool NodeChild::has_ended() { return ::waitpid(pid_, nullptr, WNOHANG) != 0; }

NodeChild::~NodeChild() {
  ::kill(pid_, SIGTERM);
  for (int64_t waited_us = 0; waited_us < kStopUs; waited_us += kLook.tv_nsec / 1000) {
    if (has_ended()) return;
    ::nanosleep(&kLook, nullptr);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace cellar::sandbox
