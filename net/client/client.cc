#include "net/client/client.h"

#include <algorithm>

namespace cellar::client {

namespace {

constexpr size_t kMaxClientIdBytes = 64;

std::optional<Error> judge(const ClientOptions& options) {
  if (options.connections < 1 || options.connections > kMaxConnections) {
    return Error(Errc::invalid_argument, fmt::format("{} connections are not between 1 and {}",
                                                     options.connections, kMaxConnections));
  }
  if (options.client_id.size() > kMaxClientIdBytes) {
    return Error(Errc::invalid_argument, fmt::format("a client id of {} bytes is over {}",
                                                     options.client_id.size(), kMaxClientIdBytes));
  }
  return std::nullopt;
}

}  // namespace

Client::Client(ClientEnv env, ClientOptions options)
    : env_(env),
      options_(std::move(options)),
      encoder_(std::make_shared<Encoder>()),
      pool_(std::make_shared<BlockPool>()),
      refused_(judge(options_)) {
  Random random(env.seed);
  if (options_.client_id.empty()) {
    options_.client_id = fmt::format("{:016x}{:016x}", random.next(), random.next());
  }
  auto address = parse_address(options_.address);
  if (!address) refused_ = address.error();
  if (refused_) return;
  for (size_t i = 0; i < options_.connections; ++i) {
    ClientEnv own = env_;
    own.seed = random.next();
    connections_.push_back(std::make_shared<Connection>(own, options_, *address, encoder_));
  }
}

Client::~Client() { close(); }

void Client::close() {
  if (std::exchange(closed_, true)) return;
  for (auto& connection : connections_) connection->close();
}

ConnectionStats Client::stats() const {
  ConnectionStats sum;
  for (const auto& connection : connections_) {
    const ConnectionStats& one = connection->stats();
    sum.connects += one.connects;
    sum.requests += one.requests;
    sum.writes += one.writes;
    sum.lost += one.lost;
  }
  return sum;
}

void Client::submit(Call& call, uint64_t affinity) {
  if (refused_) {
    call.finish(std::unexpected(*refused_), Reach::queued);
    return;
  }
  connections_[affinity % connections_.size()]->submit(call);
}

void Client::cancel_call(Call* call) {
  if (Connection* connection = Connection::of(*call)) {
    connection->cancel(*call, Error(Errc::cancelled, "the request was cancelled"), Reach::queued);
  }
}

ReadStream Client::read_rows(std::string_view table, const ReadRows& r, const CallOptions& o) {
  Request request = encoder_->read_rows(table, r);
  request.deadline_us = std::max<int64_t>(o.deadline_us, kNoDeadline);
  auto* call = new StreamCall(env_.timers, std::move(request), r.credits);
  ReadStream stream(call, pool_, env_.executor);
  submit(*call, 0);
  return stream;
}

}  // namespace cellar::client
