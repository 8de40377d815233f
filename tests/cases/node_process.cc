#include "tests/cases/node_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/loopback.h"

namespace cellar::cases {
namespace {

constexpr std::string_view kReady = "cellard: ready on ";

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

NodeProcess::NodeProcess(std::string program, std::string data_dir,
                         std::vector<std::string> arguments, std::string listen)
    : program_(std::move(program)),
      data_dir_(std::move(data_dir)),
      arguments_(std::move(arguments)),
      listen_(std::move(listen)) {}

NodeProcess::~NodeProcess() { kill_now(); }

void NodeProcess::keep_address() {
  listen_ = own_loopback_host() + ":0";
  keeps_address_ = true;
}

Result<void> NodeProcess::start(const std::vector<std::string>& extra, int timeout_ms) {
  std::vector<std::string> words = {program_, "--data-dir", data_dir_, "--listen", listen_};
  words.insert(words.end(), {"--http-listen", http_listen_, "--drain-within", drain_within_});
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  words.insert(words.end(), extra.begin(), extra.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = data_dir_ + ".log";

  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return std::unexpected(os_error(errno, "pipe"));
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG,
          SIGKILL);  // the node dies with its runner; the parent is this thread
    const int err = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out[1], STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  auto ready = wait_ready(out[0], timeout_ms);
  close(out[0]);
  if (!ready) kill_now();
  return ready;
}

Result<void> NodeProcess::wait_ready(int fd, int timeout_ms) {
  std::string seen;
  const int64_t deadline_ms = now_ms() + timeout_ms;
  while (seen.find('\n') == std::string::npos) {
    pollfd p{fd, POLLIN, 0};
    const int64_t left_ms = deadline_ms - now_ms();
    if (left_ms <= 0 || poll(&p, 1, static_cast<int>(left_ms)) == 0)
      return fail(Errc::deadline_exceeded, "the node was not ready within {} ms", timeout_ms);
    char buffer[256];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0)
      return fail(Errc::unavailable, "the node ended before it was ready; see {}.log", data_dir_);
    seen.append(buffer, static_cast<size_t>(n));
  }
  const size_t at = seen.find(kReady);
  if (at == std::string::npos) return fail(Errc::internal, "no ready line in '{}'", seen);
  address_ = seen.substr(at + kReady.size(), seen.find('\n', at) - at - kReady.size());
  if (keeps_address_) listen_ = address_;
  return {};
}

void NodeProcess::kill_now() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Result<int> NodeProcess::terminate(int timeout_ms) {
  if (pid_ <= 0) return fail(Errc::failed_precondition, "the node does not run");
  ::kill(pid_, SIGTERM);
  for (int64_t deadline_ms = now_ms() + timeout_ms; now_ms() < deadline_ms;) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill_now();
  return fail(Errc::deadline_exceeded, "the node did not end within {} ms of SIGTERM", timeout_ms);
}

}  // namespace cellar::cases
