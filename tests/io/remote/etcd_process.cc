#include "tests/io/remote/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cellar::test {
namespace {

namespace fs = std::filesystem;

constexpr int kStartMs = 20'000;

// A port of loopback that was free a moment ago.
uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  ::close(fd);
  return bound ? ntohs(at.sin_port) : 0;
}

std::string find_program(const std::string& name) {
  std::istringstream path(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (::access((fs::path(folder) / name).c_str(), X_OK) == 0) return fs::path(folder) / name;
  }
  return {};
}

}  // namespace

EtcdProcess::EtcdProcess(std::string certificate, std::string key, std::vector<std::string> more)
    : certificate_(std::move(certificate)),
      key_(std::move(key)),
      more_(std::move(more)),
      program_(find_program("etcd")) {
  if (program_.empty()) {
    lacking_ = "there is no etcd; the Debian package is etcd-server";
    return;
  }
  std::string pattern = (fs::temp_directory_path() / "cellar_etcd_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    failure_ = "no temporary directory";
    return;
  }
  directory_ = pattern;
  endpoint_ = {"127.0.0.1", free_port()};
  peer_port_ = free_port();
  health_port_ = certificate_.empty() ? endpoint_.port : free_port();
  start();
}

EtcdProcess::~EtcdProcess() {
  kill_now();
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

void EtcdProcess::start() {
  const bool tls = !certificate_.empty();
  const std::string client =
      fmt::format("{}://127.0.0.1:{}", tls ? "https" : "http", endpoint_.port);
  const std::string peer = fmt::format("http://127.0.0.1:{}", peer_port_);
  std::vector<std::string> words = {program_,
                                    "--name=test",
                                    "--data-dir=" + directory_ + "/data",
                                    "--listen-client-urls=" + client,
                                    "--advertise-client-urls=" + client,
                                    "--listen-peer-urls=" + peer,
                                    "--initial-advertise-peer-urls=" + peer,
                                    "--initial-cluster=test=" + peer};
  if (tls) {
    words.push_back("--cert-file=" + certificate_);
    words.push_back("--key-file=" + key_);
    words.push_back(fmt::format("--listen-metrics-urls=http://127.0.0.1:{}", health_port_));
  }
  words.insert(words.end(), more_.begin(), more_.end());
  const std::string log = directory_ + "/log";
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  for (int waited_ms = 0; waited_ms < kStartMs; waited_ms += 20) {
    if (answers()) return;
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      break;
    }
    ::usleep(20'000);
  }
  std::ifstream in(log);
  std::ostringstream text;
  text << in.rdbuf();
  failure_ = "etcd did not start: " + text.str();
}

bool EtcdProcess::answers() const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(health_port_);
  static constexpr std::string_view kAsk = "GET /health HTTP/1.0\r\n\r\n";
  std::array<char, 1024> answer{};
  bool healthy = ::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
                 ::write(fd, kAsk.data(), kAsk.size()) == static_cast<ssize_t>(kAsk.size());
  std::string text;
  for (ssize_t n = 0; healthy && (n = ::read(fd, answer.data(), answer.size())) > 0;) {
    text.append(answer.data(), static_cast<size_t>(n));
  }
  ::close(fd);
  return text.find("\"true\"") != std::string::npos;
}

// kill() returns before the threads on other processors have stopped.
void EtcdProcess::stop() const {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGSTOP);
  ::waitpid(pid_, nullptr, WUNTRACED);
}

void EtcdProcess::resume() const {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

void EtcdProcess::kill_now() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void EtcdProcess::kill_and_start() {
  kill_now();
  start();
}

Result<std::vector<Address>> endpoints_of_environment() {
  std::vector<Address> endpoints;
  const char* text = std::getenv("CELLAR_ETCD_ENDPOINTS");
  if (text == nullptr) return endpoints;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    TRY(Address address, parse_address(one));
    endpoints.push_back(std::move(address));
  }
  if (endpoints.empty()) return fail(Errc::invalid_argument, "CELLAR_ETCD_ENDPOINTS is empty");
  return endpoints;
}

}  // namespace cellar::test
