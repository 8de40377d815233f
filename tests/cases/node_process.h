// A real node as a child process, with a clock that the caller controls. The destructor, and the
// end of the thread that started it, kill it with SIGKILL.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/result.h"

namespace cellar::cases {

class NodeProcess {
 public:
  // Runs `program` with `arguments`, --data-dir and --listen; its log goes to DATA_DIR.log.
  NodeProcess(std::string program, std::string data_dir, std::vector<std::string> arguments,
              std::string listen = "127.0.0.1:0");
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // Later starts use the same port, for clients that reconnect after a restart; the host is
  // own_loopback_host(). Call before the first start.
  void keep_address();
  // Address of its HTTP listener; by default it has none.
  void serve_http(std::string listen) { http_listen_ = std::move(listen); }
  // Sets --drain-within of a node with an HTTP listener; 0s by default.
  void drain_within(std::string time) { drain_within_ = std::move(time); }
  // Starts and waits for the ready line, up to timeout_ms. `extra` arguments follow the
  // constructor's.
  Result<void> start(const std::vector<std::string>& extra = {}, int timeout_ms = 20'000);
  void kill_now();                                         // SIGKILL, and waits for the end
  Result<int> terminate(int timeout_ms = 20'000);          // SIGTERM; the exit code
  const std::string& address() const { return address_; }  // HOST:PORT
  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }

 private:
  Result<void> wait_ready(int fd, int timeout_ms);

  std::string program_;
  std::string data_dir_;
  std::vector<std::string> arguments_;
  std::string listen_;
  std::string address_;
  std::string http_listen_;
  std::string drain_within_ = "0s";
  bool keeps_address_ = false;
  pid_t pid_ = -1;
};

}  // namespace cellar::cases
