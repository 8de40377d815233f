// A real node as a child process, with the clock under our control. Killed without warning by the
// destructor, and by the end of the thread that started it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/result.h"

namespace cellar::cases {

class NodeProcess {
 public:
  // `program` is run with `arguments`, --data-dir and --listen added; its log goes to
  // DATA_DIR.log.
  NodeProcess(std::string program, std::string data_dir, std::vector<std::string> arguments,
              std::string listen = "127.0.0.1:0");
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  // Started again, it serves the port that it had before: for clients that ride a restart out. To
  // be said before the first start.
  void keep_address() { keeps_address_ = true; }
  // Its HTTP listener; none unless it is given one.
  void serve_http(std::string listen) { http_listen_ = std::move(listen); }
  // What it shows that it drains for before it stops; nothing unless it is told.
  void drain_within(std::string time) { drain_within_ = std::move(time); }
  // Starts and waits for the ready line, up to timeout_ms. Extra arguments follow the
  // constructor's.
  Result<void> start(const std::vector<std::string>& extra = {}, int timeout_ms = 20'000);
  void kill_now();                                         // SIGKILL, reaped
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
