#include "tests/support/trace/traced_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

namespace cellar::test {
namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;  // by PTRACE_O_TRACESYSGOOD

bool is_group_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// One stop of one thread: tells the visitor and lets the thread go on.
class Stops {
 public:
  explicit Stops(CallVisitor& visitor) : visitor_(visitor) {}

  void handle(pid_t thread, int status) {
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (signal == kSystemCallStop) {
      system_call(thread);
      resume(thread, 0);
    } else if (event == PTRACE_EVENT_STOP && is_group_stop(signal)) {
      ::ptrace(PTRACE_LISTEN, thread, 0, 0);
    } else {
      resume(thread, event == 0 ? signal : 0);
    }
  }

 private:
  static void resume(pid_t thread, int signal) {
    ::ptrace(PTRACE_SYSCALL, thread, 0, static_cast<uintptr_t>(signal));
  }
  void system_call(pid_t thread) {
    __ptrace_syscall_info info = {};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0) return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      SystemCall call{thread, info.entry.nr, {}};
      std::copy(std::begin(info.entry.args), std::end(info.entry.args), call.args.begin());
      calls_[thread] = call;
      visitor_.entered(call);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      const auto call = calls_.find(thread);
      if (call == calls_.end()) return;
      visitor_.left(call->second, info.exit.rval);
      calls_.erase(call);
    }
  }

  CallVisitor& visitor_;
  std::map<pid_t, SystemCall> calls_;
};

}  // namespace

Result<int> run_traced(const std::function<int()>& body, CallVisitor& visitor) {
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return std::unexpected(os_error(errno, "pipe"));
  const pid_t process = ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(gate[1]);
    char opened = 0;
    ::_exit(::read(gate[0], &opened, 1) == 1 ? body() : 126);
  }
  ::close(gate[0]);
  constexpr uintptr_t kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  const bool seized = ::ptrace(PTRACE_SEIZE, process, 0, kOptions) == 0 &&
                      ::ptrace(PTRACE_INTERRUPT, process, 0, 0) == 0;
  if (!seized) {
    const int error = errno;
    ::close(gate[1]);
    ::waitpid(process, nullptr, 0);
    return fail(Errc::failed_precondition, "this machine forbids ptrace (errno {})", error);
  }
  visitor.started(process);
  const bool opened = ::write(gate[1], "o", 1) == 1;
  ::close(gate[1]);
  if (!opened) ::kill(process, SIGKILL);
  Stops stops(visitor);
  while (true) {
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (thread < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(os_error(errno, "waiting for a traced process"));
    }
    if (WIFSTOPPED(status)) {
      stops.handle(thread, status);
    } else if (thread == process) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
}

std::string read_memory(pid_t process, uint64_t address, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    iovec to{bytes.data() + done, size - done};
    iovec from{reinterpret_cast<void*>(address + done), size - done};
    const ssize_t got = ::process_vm_readv(process, &to, 1, &from, 1, 0);
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace cellar::test
