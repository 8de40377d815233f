// Program: a child process of a test, with its own log.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cellar::cluster {

class Program {
 public:
  Program() = default;
  // Kills the process and waits for its end.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Starts it; both outputs are appended to `log`. It dies with the thread that started it.
  void start(std::vector<std::string> words, const std::string& log);
  void signal(int number);
  void kill_now();
  // The exit code, 128 + signal if it was killed; -1: timeout.
  int wait(int timeout_ms);
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
};

// Runs a shell command to its end, with its output discarded. Returns whether it succeeded.
bool run(const std::string& command);
// The output of a command.
std::string output_of(const std::string& command);
// The answer of the server on a Unix socket to a line, until it closes; empty: no server.
std::string ask_socket(const std::string& path, const std::string& question);

}  // namespace cellar::cluster
