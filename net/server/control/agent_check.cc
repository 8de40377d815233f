#include "net/server/control/agent_check.h"

#include <sys/resource.h>

#include <algorithm>

namespace cellar::server {
namespace {

int64_t micros(const timeval& time) { return time.tv_sec * int64_t{1'000'000} + time.tv_usec; }

int64_t process_us() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return micros(used.ru_utime) + micros(used.ru_stime);
}

}  // namespace

std::string agent_answer(NodeState state, double busy) {
  switch (state) {
    case NodeState::starting:
      return "maint\n";
    case NodeState::draining:
      return "drain\n";
    case NodeState::read_only:
    case NodeState::disk_hung:
    case NodeState::clock_lags:
    case NodeState::broken:
      return fmt::format("down#{}\n", name_of(state));
    case NodeState::ready:
      break;
  }
  // Never 0, which would remove the node; in steps, so that a proxy does not react to noise.
  constexpr int kStep = 5;
  const int idle = 100 - static_cast<int>(std::clamp(busy, 0.0, 1.0) * 100);
  return fmt::format("ready up {}%\n", std::max(kStep, (idle + kStep / 2) / kStep * kStep));
}

AgentCheck::AgentCheck(ShardExecutor executor, Timers& timers, std::unique_ptr<Listener> listener,
                       const Readiness& readiness, uint32_t processors)
    : executor_(executor),
      timers_(timers),
      listener_(std::move(listener)),
      readiness_(readiness),
      processors_(std::max<uint32_t>(processors, 1)) {}

void AgentCheck::start() {
  looked_us_ = timers_.now_us();
  processor_us_ = process_us();
  accepting_ = true;
  spawn(executor_, accept_loop());
}

Async<void> AgentCheck::stop() {
  stopping_ = true;
  listener_->close();
  while (accepting_ || open_ > 0) co_await ended_.wait();
}

// The share since the previous check, or over the last second if checks come faster.
double AgentCheck::busy() {
  const int64_t now_us = timers_.now_us();
  const int64_t passed_us = now_us - looked_us_;
  if (passed_us >= kBusyWindowUs) {
    const int64_t used_us = process_us();
    busy_ =
        static_cast<double>(used_us - processor_us_) / static_cast<double>(passed_us) / processors_;
    looked_us_ = now_us;
    processor_us_ = used_us;
  }
  return busy_;
}

Async<void> AgentCheck::accept_loop() {
  while (!stopping_) {
    auto stream = co_await listener_->accept();
    if (!stream && stream.error().code == Errc::cancelled) break;
    if (!stream) continue;
    if (open_ >= kMaxConnections) {
      (*stream)->close();
      continue;
    }
    ++open_;
    spawn(executor_, answer(std::move(*stream)));
  }
  accepting_ = false;
  ended_.notify_all();
}

// The line fits into any socket buffer; a peer that does not read it is closed all the same.
Async<void> AgentCheck::answer(std::unique_ptr<ByteStream> stream) {
  const std::string line = agent_answer(readiness_.state(), busy());
  const Bytes part = line;
  (void)stream->try_write({&part, 1});
  stream->close();
  --open_;
  ended_.notify_all();
  co_return;
}

}  // namespace cellar::server
