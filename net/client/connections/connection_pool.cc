#include "net/client/connections/connection_pool.h"

#include <algorithm>
#include <utility>

namespace cellar::client {

namespace {

// Removes `connection` from `from`; null if it is not there.
std::shared_ptr<Connection> take(std::vector<std::shared_ptr<Connection>>& from,
                                 const Connection& connection) {
  const auto at = std::find_if(from.begin(), from.end(),
                               [&](const auto& one) { return one.get() == &connection; });
  if (at == from.end()) return nullptr;
  std::shared_ptr<Connection> taken = std::move(*at);
  from.erase(at);
  return taken;
}

}  // namespace

ConnectionPool::ConnectionPool(ClientEnv env, const ClientOptions& options, Address address,
                               std::shared_ptr<Encoder> encoder, PoolOwner& owner)
    : env_(std::move(env)),
      options_(options),
      address_(std::move(address)),
      encoder_(std::move(encoder)),
      owner_(owner),
      random_(env_.seed) {
  for (size_t i = 0; i < options_.connections; ++i) base_.push_back(make());
}

std::shared_ptr<Connection> ConnectionPool::make(std::optional<uint32_t> shard) {
  ClientEnv own = env_;
  own.seed = random_.next();
  ConnectionOwner* owner = this;
  return std::make_shared<Connection>(std::move(own), options_, address_, encoder_, owner, shard);
}

Connection& ConnectionPool::by_affinity(uint64_t affinity) {
  return *base_[affinity % base_.size()];
}

Connection* ConnectionPool::by_shard(uint32_t shard, uint64_t affinity) {
  if (shard >= by_shard_.size() || by_shard_[shard].empty()) return nullptr;
  const auto& there = by_shard_[shard];
  return there[affinity % there.size()];
}

size_t ConnectionPool::missing_shards() const {
  return static_cast<size_t>(
      std::count_if(by_shard_.begin(), by_shard_.end(), [](const auto& c) { return c.empty(); }));
}

bool ConnectionPool::is_probed(uint32_t shard) const {
  return std::any_of(probes_.begin(), probes_.end(), [shard](const auto& connection) {
    return connection->wanted_shard() == shard;
  });
}

void ConnectionPool::probe(std::optional<uint32_t> shard) {
  --probes_left_;
  probes_.push_back(make(shard));
  probes_.back()->open();
}

void ConnectionPool::cover() {
  // A base connection reconnects automatically; extra ones follow once it has.
  const size_t open = base_.size() + extra_.size() + probes_.size();
  if (shards_ < 2 || open >= kMaxConnections) return;
  const bool reachable = std::any_of(base_.begin(), base_.end(),
                                     [](const auto& connection) { return connection->ready(); });
  if (!reachable) return;
  const size_t missing = missing_shards();
  if (missing == 0 || probes_.size() >= missing) return;
  if (probes_left_ == 0) {
    if (env_.timers.now_us() < probe_from_us_) return;
    probes_left_ = kProbesPerShard * shards_;
    probe_from_us_ = env_.timers.now_us() + kCoverPauseUs;
  }
  size_t more = std::min(missing - probes_.size(), kMaxConnections - open);
  for (uint32_t shard = 0; shard < by_shard_.size(); ++shard) {
    if (more == 0 || probes_left_ == 0) return;
    if (!by_shard_[shard].empty() || (shard_choice_ && is_probed(shard))) continue;
    probe(shard_choice_ ? std::optional(shard) : std::nullopt);
    --more;
  }
}

// Whether all other ready connections lead to the same node as this one.
bool ConnectionPool::on_one_node(const Connection& connection) const {
  const auto elsewhere = [&](const auto& one) {
    return one->ready() && one->server().instance != connection.server().instance;
  };
  return std::none_of(base_.begin(), base_.end(), elsewhere) &&
         std::none_of(extra_.begin(), extra_.end(), elsewhere);
}

// Determines the node of a new connection. False: it differs from the others, and nothing is routed
// by shard.
bool ConnectionPool::meet(const Connection& connection) {
  const uint64_t instance = connection.server().instance;
  const bool one_node = on_one_node(connection);
  if (one_node && instance == instance_ && shards_ != 0) return true;
  if (instance != instance_) owner_.on_another_node();
  by_shard_.clear();
  shards_ = 0;
  instance_ = instance;
  if (!one_node) return false;
  // The other connections were opened while there were two nodes.
  shards_ = connection.server().shards;
  by_shard_.resize(std::min<size_t>(shards_, kMaxConnections));
  for (const auto* all : {&base_, &extra_}) {
    for (const auto& one : *all) {
      if (!one->ready() || one.get() == &connection) continue;
      const uint32_t shard = one->server().shard;
      if (shard >= by_shard_.size()) by_shard_.resize(shard + size_t{1});
      by_shard_[shard].push_back(one.get());
    }
  }
  return true;
}

void ConnectionPool::on_ready(Connection& connection) {
  const ServerHello& server = connection.server();
  if (!meet(connection)) {
    if (auto probe = take(probes_, connection)) retire(std::move(probe));
    return;
  }
  shard_choice_ = server.shard_choice;
  if (shards_ != server.shards) {
    // The node restarted with another number of shards.
    shards_ = server.shards;
    by_shard_.resize(std::min<size_t>(shards_, kMaxConnections));
  }
  if (server.shard >= by_shard_.size()) by_shard_.resize(server.shard + size_t{1});
  auto& there = by_shard_[server.shard];
  if (auto probe = take(probes_, connection)) {
    if (there.empty()) {
      there.push_back(&connection);
      extra_.push_back(std::move(probe));
    } else {
      retire(std::move(probe));
    }
    cover();
    return;
  }
  if (std::find(there.begin(), there.end(), &connection) == there.end()) {
    there.push_back(&connection);
  }
}

void ConnectionPool::leave_shard(Connection& connection) {
  for (auto& there : by_shard_) std::erase(there, &connection);
}

void ConnectionPool::on_down(Connection& connection) {
  leave_shard(connection);
  owner_.on_connection_lost(connection);
  // Extra connections are not reopened; cover() opens another one when there is a request.
  auto gone = take(extra_, connection);
  if (!gone) gone = take(probes_, connection);
  if (!gone) return;
  owner_.on_orphans(gone->take_queue());
  retire(std::move(gone));
}

void ConnectionPool::on_goaway(Connection& connection) {
  leave_shard(connection);
  owner_.on_connection_lost(connection);
  std::shared_ptr<Connection> old = take(extra_, connection);
  if (!old) old = take(probes_, connection);
  for (auto& one : base_) {
    if (one.get() == &connection) old = std::exchange(one, make());
  }
  if (!old) return;
  CallList orphans = old->take_queue();
  retire(std::move(old));
  owner_.on_orphans(std::move(orphans));
}

void ConnectionPool::on_stale(const StaleTablet& tablet) { owner_.on_stale(tablet); }

void ConnectionPool::retire(std::shared_ptr<Connection> connection) {
  purge();
  connection->retire();
  retired_.push_back(std::move(connection));
}

void ConnectionPool::purge() {
  std::erase_if(retired_, [&](const auto& one) {
    if (!one->closed()) return false;
    ended_.add(one->stats());
    return true;
  });
}

void ConnectionPool::close() {
  for (auto* all : {&base_, &extra_, &probes_, &retired_}) {
    for (const auto& connection : *all) connection->close();
  }
}

ConnectionStats ConnectionPool::stats() const {
  ConnectionStats sum = ended_;
  for (const auto* all : {&base_, &extra_, &probes_, &retired_}) {
    for (const auto& connection : *all) sum.add(connection->stats());
  }
  return sum;
}

}  // namespace cellar::client
