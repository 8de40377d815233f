// TracedProcess: a child process whose system calls are seen by a visitor, through ptrace. It needs
// no privileges: a process may trace its own children unless a sandbox forbids ptrace.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "io/base/result.h"

namespace cellar::test {

struct SystemCall {
  pid_t thread = -1;
  uint64_t number = 0;
  std::array<uint64_t, 6> args{};
};

// The thread of the call stands still while a function of the visitor runs; other threads of the
// process do not.
class CallVisitor {
 public:
  virtual ~CallVisitor() = default;
  virtual void started(pid_t process) = 0;
  virtual void entered(const SystemCall& call) = 0;
  virtual void left(const SystemCall& call, int64_t result) = 0;  // or -errno
};

// Runs `body` in a forked process, with all threads that it starts (also after execv), until it
// ends. Returns its exit code, or 128 + the signal that ended it. FAILED_PRECONDITION if the
// machine forbids tracing. The child dies with the calling thread. `body` returns the exit code.
Result<int> run_traced(const std::function<int()>& body, CallVisitor& visitor);

// Memory of another process; shorter than `size` if part of it is not mapped.
std::string read_memory(pid_t process, uint64_t address, size_t size);

}  // namespace cellar::test
