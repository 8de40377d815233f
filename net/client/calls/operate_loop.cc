#include "net/client/calls/operate_loop.h"

namespace cellar::client {

namespace {
constexpr int kFarewellTurns = 16;  // enough for closed connections to end
}  // namespace

OperateLoop::OperateLoop(ClientOptions options) : options_(std::move(options)) {
  network_ = std::make_unique<TcpNetwork>(loop_.executor(), loop_.timers());
  if (options_.routing_hint == 0) options_.routing_hint = entropy_seed() | 1;
  const ClientEnv env{loop_.executor(), loop_.timers(), *network_, entropy_seed()};
  dispatcher_.emplace(env, options_, std::make_shared<Encoder>(entropy_seed()), pool_);
}

OperateLoop::~OperateLoop() {
  dispatcher_->close();
  for (int i = 0; i < kFarewellTurns; ++i) loop_.turn(false);
}

Request OperateLoop::request_of(uint16_t op, Bytes body, bool looks) const {
  wire::FrameHeader header;
  header.op = op;
  header.body_bytes = static_cast<uint32_t>(body.size());
  Request request;
  wire::append_header(request.frame, header);
  request.frame.append(body);
  request.writes = !looks;
  request.repeat = looks ? Repeat::always : Repeat::unless_applied;
  request.deadline_us = options_.admin_deadline_us;
  request.wait = options_.wait_for_connection;
  return request;
}

void OperateLoop::sleep_us(int64_t us) {
  bool over = false;
  Timer timer(loop_.timers(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &over);
  loop_.turn(false);
  timer.arm_after_us(us);
  while (!over) loop_.turn(true);
}

}  // namespace cellar::client
