// ConnectionPool: the connections of one client to one node.
//
// The first `connections` of the options are always there. When asked to cover the shards, the pool
// opens more until each shard of the node (the hello tells how many, and which one serves the
// connection) has one. The node's shards share a port and the kernel deals connections out, so
// which shard one gets is luck: those that land on a shard that has one are closed again, and after
// kProbesPerShard tries a shard the pool makes do with what it has for kCoverPauseUs. A shard
// without a connection is served through another one, which costs a hop inside the node.
//
// A node that says goodbye: a new connection takes the place of the old, which ends with its last
// answer.
//
// Behind a proxy two connections may lead to two nodes. Shards and tablets are those of one node,
// so while connections tell different instances nothing is routed by shard, and when all have come
// to another instance, the owner forgets what it knew of the old one.
#pragma once

#include <memory>
#include <vector>

#include "net/client/connections/connection.h"

namespace cellar::client {

class PoolOwner {
 public:
  // Calls that a connection has not sent and will not.
  virtual void on_orphans(CallList calls) = 0;
  // A connection was lost, or is on its way out: no new call should follow others to it.
  virtual void on_connection_lost(Connection& connection) = 0;
  // Connections lead to another node, or the node was started anew: what is known of tablets is
  // void.
  virtual void on_another_node() = 0;

 protected:
  ~PoolOwner() = default;
};

class ConnectionPool final : private ConnectionOwner {
 public:
  static constexpr size_t kProbesPerShard = 8;
  static constexpr int64_t kCoverPauseUs = 10'000'000;

  ConnectionPool(ClientEnv env, const ClientOptions& options, Address address,
                 std::shared_ptr<Encoder> encoder, PoolOwner& owner);

  // One of the first connections.
  Connection& by_affinity(uint64_t affinity);
  // A connection that is served by that shard, or null. Several share by affinity.
  Connection* by_shard(uint32_t shard, uint64_t affinity);
  // Opens connections until every shard has one, within bounds; cheap when there is nothing to do.
  void cover();
  // Of the node; 0: not known yet, or there is more than one node.
  uint32_t shards() const { return shards_; }
  void close();
  ConnectionStats stats() const;

 private:
  void on_ready(Connection& connection) override;
  void on_down(Connection& connection) override;
  void on_goaway(Connection& connection) override;

  std::shared_ptr<Connection> make();
  void leave_shard(Connection& connection);
  bool on_one_node(const Connection& connection) const;
  bool meet(const Connection& connection);
  size_t missing_shards() const;
  // Out of the pool, to end by itself.
  void let_go(std::shared_ptr<Connection> connection);
  void purge();

  ClientEnv env_;
  const ClientOptions& options_;
  const Address address_;
  std::shared_ptr<Encoder> encoder_;
  PoolOwner& owner_;
  Random random_;
  std::vector<std::shared_ptr<Connection>> base_;
  std::vector<std::shared_ptr<Connection>> extra_;    // each the one of its shard
  std::vector<std::shared_ptr<Connection>> probes_;   // connecting, shard not known
  std::vector<std::shared_ptr<Connection>> retired_;  // ending
  std::vector<std::vector<Connection*>> by_shard_;    // ready ones
  uint32_t shards_ = 0;
  uint64_t instance_ = 0;  // of the node that shards_ and by_shard_ are of; 0: not told
  size_t probes_left_ = 0;
  int64_t probe_from_us_ = 0;  // probes_left_ is filled again then
  ConnectionStats ended_;      // of those that are gone
};

}  // namespace cellar::client
