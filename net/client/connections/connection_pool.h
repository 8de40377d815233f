// ConnectionPool: the connections of one client to one node.
//
// The base `connections` of the options always exist. cover() opens one more for each shard of the
// node that has none. The hello of such a connection names the shard, and a node with the feature
// shard_choice hands the connection over to it, also behind a proxy. Of any other node the shards
// share a port, and the kernel distributes connections at random: a connection to a shard that
// already has one is closed. After kProbesPerShard attempts per shard the pool stops for
// kCoverPauseUs. Requests for a shard without a connection go through another one, at the cost of a
// hop inside the node.
//
// After a goaway a new connection replaces the old one, which ends with its last answer.
//
// Behind a proxy, connections may lead to different nodes. Shards and tablets belong to one node,
// so while connections report different instances nothing is routed by shard. When one reports
// another instance than the last one did, the owner discards its data about tablets.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "net/client/connections/connection.h"

namespace cellar::client {

class PoolOwner {
 public:
  // Calls that a connection has not sent and will not send.
  virtual void on_orphans(CallList calls) = 0;
  // A connection is lost or ending: no further calls should be sent to it.
  virtual void on_connection_lost(Connection& connection) = 0;
  // The connections lead to another node, or the node restarted: tablet maps are invalid.
  virtual void on_another_node() = 0;
  virtual void on_stale(const StaleTablet& tablet) = 0;

 protected:
  ~PoolOwner() = default;
};

class ConnectionPool final : private ConnectionOwner {
 public:
  static constexpr size_t kProbesPerShard = 8;
  static constexpr int64_t kCoverPauseUs = 10'000'000;

  ConnectionPool(ClientEnv env, const ClientOptions& options, Address address,
                 std::shared_ptr<Encoder> encoder, PoolOwner& owner);

  // A base connection.
  Connection& by_affinity(uint64_t affinity);
  // A connection served by that shard, or null. If there are several, the affinity selects one.
  Connection* by_shard(uint32_t shard, uint64_t affinity);
  // Opens connections until every shard has one, within limits; cheap if there is nothing to do.
  void cover();
  // The node's number of shards; 0: unknown, or there is more than one node.
  uint32_t shards() const { return shards_; }
  void close();
  ConnectionStats stats() const;

 private:
  void on_ready(Connection& connection) override;
  void on_down(Connection& connection) override;
  void on_goaway(Connection& connection) override;
  void on_stale(const StaleTablet& tablet) override;

  std::shared_ptr<Connection> make(std::optional<uint32_t> shard = {});
  void leave_shard(Connection& connection);
  bool on_one_node(const Connection& connection) const;
  bool meet(const Connection& connection);
  size_t missing_shards() const;
  bool is_probed(uint32_t shard) const;
  void probe(std::optional<uint32_t> shard);
  // Removes a connection, which ends by itself.
  void retire(std::shared_ptr<Connection> connection);
  void purge();

  ClientEnv env_;
  const ClientOptions& options_;
  const Address address_;
  std::shared_ptr<Encoder> encoder_;
  PoolOwner& owner_;
  Random random_;
  std::vector<std::shared_ptr<Connection>> base_;
  std::vector<std::shared_ptr<Connection>> extra_;    // the one connection of its shard
  std::vector<std::shared_ptr<Connection>> probes_;   // connecting, shard not yet known
  std::vector<std::shared_ptr<Connection>> retired_;  // ending
  std::vector<std::vector<Connection*>> by_shard_;    // ready connections
  uint32_t shards_ = 0;
  bool shard_choice_ = false;  // as the node last said
  uint64_t instance_ = 0;      // the node that shards_ and by_shard_ belong to; 0: not reported
  size_t probes_left_ = 0;
  int64_t probe_from_us_ = 0;  // when probes_left_ is refilled
  ConnectionStats ended_;      // totals of closed connections
};

}  // namespace cellar::client
