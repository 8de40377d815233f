#include "bench/embedded/turn_sampler.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "io/base/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): it is the linker's.
extern "C" const char __executable_start;

namespace cellar::bench {
namespace {

constexpr int kSignal = SIGPROF;
thread_local TurnSampler* sampler = nullptr;

int64_t cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

// The output of addr2line for an address in this program; "?" on failure.
std::string name_of(void* place) {
  const auto offset = static_cast<const char*>(place) - &__executable_start;
  const std::string command =
      fmt::format("addr2line -Cfse /proc/{}/exe {:#x} 2>/dev/null", ::getpid(), offset - 1);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "?";
  std::array<char, 512> line{};
  std::string name = std::fgets(line.data(), line.size(), pipe) == nullptr ? "?" : line.data();
  ::pclose(pipe);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.substr(0, name.find('('));
}

}  // namespace

TurnSampler::TurnSampler(Loop& loop, int64_t limit_us)
    : loop_(loop), limit_us_(limit_us), samples_(kMostSamples) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // the first call allocates; those in the handler must not
  CHECK(sampler == nullptr, "one sampler a thread");
  sampler = this;
  struct sigaction action{};
  action.sa_handler = &TurnSampler::on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(kSignal, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kSignal;
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  CHECK(::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0, "no timer");
  loop_.add_hook(*this);
}

TurnSampler::~TurnSampler() {
  loop_.remove_hook(*this);
  ::timer_delete(timer_);
  sampler = nullptr;
}

// A timer of processor time would fire only at the kernel's next tick, which is milliseconds late.
void TurnSampler::arm() {
  itimerspec when{};
  when.it_value.tv_nsec = limit_us_ * 1000;
  when.it_interval.tv_nsec = limit_us_ * 1000;
  ::timer_settime(timer_, 0, &when, nullptr);
}

bool TurnSampler::on_turn() {
  const int64_t now_us = cpu_us();
  if (turn_began_us_ != 0) turns_.record(static_cast<uint64_t>(now_us - turn_began_us_));
  turn_began_us_ = now_us;
  arm();
  return false;
}

// Time asleep does not belong to a turn.
bool TurnSampler::may_sleep() {
  const itimerspec never{};
  ::timer_settime(timer_, 0, &never, nullptr);
  return true;
}

void TurnSampler::on_signal(int) {
  if (sampler == nullptr || cpu_us() - sampler->turn_began_us_ < sampler->limit_us_) return;
  const size_t at = sampler->taken_.load(std::memory_order_relaxed);
  if (at == kMostSamples) return;
  Sample& sample = sampler->samples_[at];
  sample.count = ::backtrace(sample.frames.data(), kMostFrames);
  sampler->taken_.store(at + 1, std::memory_order_relaxed);
}

std::vector<std::string> TurnSampler::stacks() const {
  std::map<void*, std::string> names;
  std::vector<std::string> stacks;
  for (size_t i = 0; i < taken_.load(); ++i) {
    std::string stack;
    for (int f = 2; f < samples_[i].count; ++f) {  // after the handler and the kernel's frame
      void* place = samples_[i].frames[static_cast<size_t>(f)];
      auto [name, added] = names.try_emplace(place);
      if (added) name->second = name_of(place);
      const std::string& text = name->second;
      if (text.find("boost::asio") != std::string::npos || text.starts_with("std::") ||
          text.starts_with("?")) {
        continue;
      }
      if (text.find("Loop::") != std::string::npos) break;
      stack += (stack.empty() ? "" : " < ") + text;
    }
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

}  // namespace cellar::bench
