// Program: a child process of a test, with a log of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cellar::cluster {

class Program {
 public:
  Program() = default;
  // Killed and reaped.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Starts it; both outputs are appended to `log`. Dies with the thread that started it.
  void start(std::vector<std::string> words, const std::string& log);
  void signal(int number);
  void kill_now();
  // The exit code, 128 + signal when it was killed; -1 when it did not end in time.
  int wait(int timeout_ms);
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
};

// Runs a command of the shell to its end. True when it succeeded; its output goes nowhere.
bool run(const std::string& command);
// The output of a command.
std::string output_of(const std::string& command);
// What whoever listens on a Unix socket answers to a line, until he closes; empty: nobody.
std::string ask_socket(const std::string& path, const std::string& question);

}  // namespace cellar::cluster
