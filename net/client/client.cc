#include "net/client/client.h"

#include <algorithm>

namespace cellar::client {

Client::Client(ClientEnv env, ClientOptions options)
    : env_(std::move(env)), options_(std::move(options)), pool_(std::make_shared<BlockPool>()) {
  Random random(env_.seed);
  if (options_.client_id.empty()) {
    options_.client_id = fmt::format("{:016x}{:016x}", random.next(), random.next());
  }
  encoder_ = std::make_shared<Encoder>(random.next());
  env_.seed = random.next();
  if (options_.routing_hint == 0) options_.routing_hint = random.next() | 1;
  dispatcher_.emplace(env_, options_, encoder_, pool_);
}

Client::~Client() { close(); }

void Client::close() { dispatcher_->close(); }

ClientStats Client::stats() const { return dispatcher_->stats(); }

ReadStream Client::stream(std::unique_ptr<StreamPlan> plan, const CallOptions& o) {
  Request request = plan->encode(*encoder_, plan->credits());
  request.deadline_us = std::max<int64_t>(o.deadline_us, kNoDeadline);
  request.wait = waits(o);
  auto* call = new StreamCall(env_.timers, std::move(request), encoder_, std::move(plan));
  ReadStream stream(call, pool_, env_.executor);
  dispatcher_->submit(*call);
  return stream;
}

ReadStream Client::read_rows(std::string_view table, const ReadRows& r, const CallOptions& o) {
  return stream(plan_of(table, r), o);
}

ReadStream Client::read_index(std::string_view table, const ReadIndex& r, const CallOptions& o) {
  return stream(plan_of(table, r), o);
}

}  // namespace cellar::client
