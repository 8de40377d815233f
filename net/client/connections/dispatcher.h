// Dispatcher: manages every call of a client from start to finish: admission, choice of the
// connection, and retries.
//
// A call is in exactly one place: parked (over the limits), in a connection, or paused (before its
// next attempt, until a time or until its reader has taken results). Its `charged_bytes_` count
// against the client's limits from admission to the end.
//
// Routing. A call without a row, or for a table without a known map, goes by its affinity to one of
// the `connections` of the options. After kRouteAfter requests to a table, if the node has several
// shards, its map is fetched; then a row's call goes to a connection of its tablet's shard and
// names tablet and epoch. A refusal with a hint corrects the map and is followed at once, up to
// kMaxRedirects times; an unknown tablet causes the map to be fetched again. A node also reports,
// unasked, a tablet that has moved, which corrects the map, or is gone: then the next request for
// its rows names no tablet, so that the node finds it, and causes the map to be fetched again.
//
// Order. Concurrent writes of one row share a connection (`sticky_`), so they apply in the order of
// the calls, whatever happens to map and connections meanwhile. The exception is a retried write,
// which may be applied after a later one. Callers that cannot accept that wait for each answer or
// use a BatchWriter.
//
// One loop.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/client/api/retry_policy.h"
#include "net/client/connections/connection.h"
#include "net/client/connections/connection_pool.h"
#include "net/client/connections/tablet_map.h"

namespace cellar::client {

struct ClientStats : ConnectionStats {
  uint64_t repeats = 0;    // attempts after the first
  uint64_t redirects = 0;  // of these, caused by a node's hint
  uint64_t routed = 0;     // requests sent to the shard of their tablet
  uint64_t maps = 0;       // tablet maps fetched
  uint64_t stale = 0;      // tablets that the node reported as moved or gone, before a refusal
  uint64_t refused = 0;    // over the limits of this client
  size_t pending = 0;      // requests now accepted and not finished
  size_t pending_bytes = 0;
};

class Dispatcher final : public CallOwner, private PoolOwner {
 public:
  static constexpr uint32_t kMaxRedirects = 4;     // per call, followed at once
  static constexpr uint32_t kRouteAfter = 32;      // requests to a table before its map is fetched
  static constexpr int64_t kMapPauseUs = 100'000;  // between two fetches of a map
  static constexpr size_t kMaxTables = 1024;       // with a map; above it all are dropped
  static constexpr size_t kMaxOwners = 16;         // other nodes named by hints

  Dispatcher(ClientEnv env, const ClientOptions& options, std::shared_ptr<Encoder> encoder,
             std::shared_ptr<BlockPool> pool);
  ~Dispatcher();

  // Starts a call, which finishes exactly once and never inside this function.
  void submit(Call& call);
  // Repeats a call whose answer requires another attempt after a pause; deadline and attempts are
  // kept.
  void submit_again(Call& call, int64_t pause_us);
  static void cancel(Call& call);
  // The call does not wait for its reader any more. REQUIRES: renew() has made it wait.
  static void go_on(Call& call) {
    if (!call.timer_.armed()) call.timer_.arm_after_us(0);
  }
  // Completes all calls with CANCELLED. No calls may follow.
  void close();

  // The shard of a row's requests; requests with the same number may share a batch. Empty: unknown.
  std::optional<uint32_t> shard_of(std::string_view table, Bytes row);
  RetryPolicy& policy() { return policy_; }
  Timers& timers() { return env_.timers; }
  Encoder& encoder() { return *encoder_; }
  ClientStats stats() const;

 private:
  struct Table {
    TabletMap map;
    uint64_t requests = 0;
    bool fetching = false;
    int64_t fetch_from_us = 0;  // earliest time of the next fetch
    std::string owner;          // another node that has the table; empty: the configured one
  };
  // Connections to a node named by a hint.
  struct Owner {
    ClientOptions options;
    std::optional<ConnectionPool> pool;
  };
  struct Sticky {
    Connection* connection = nullptr;
    uint32_t writes = 0;  // in progress
  };

  bool takes_back(Call& call, const Error& error, Ending ending,
                  const wire::TabletHint* hint) override;
  void on_finish(Call& call, bool answered) override;
  void on_call_timer(Call& call) override;
  void cancel_waiting(Call& call, Error why, Reach reach) override;
  void on_orphans(CallList calls) override;
  void on_connection_lost(Connection& connection) override;
  void on_another_node() override;
  void on_stale(const StaleTablet& tablet) override;

  bool has_room(size_t bytes) const;
  void charge(Call& call);
  void park(Call& call);
  void admit_parked();
  void pause(Call& call, int64_t pause_us);
  void send(Call& call);
  void redirect(Call& call, const wire::TabletHint& hint);
  bool follow_owner(Call& call, const std::string& owner);
  Owner* owner_at(const std::string& address);
  Connection* owner_of(Call& call);
  Connection& choose(Call& call);
  void unstick(Call& call);
  Table& table_of(std::string_view name);
  void fetch_map(std::string_view name, Table& table);

  ClientEnv env_;
  const ClientOptions& options_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<BlockPool> pool_;
  RetryPolicy policy_;
  std::optional<ConnectionPool> connections_;  // empty: the options are invalid
  std::optional<Error> refused_;
  std::map<std::string, std::unique_ptr<Owner>> owners_;  // by address
  std::map<std::string, std::unique_ptr<Table>, std::less<>> tables_;
  absl::flat_hash_map<uint64_t, Sticky> sticky_;  // by hash of table and row
  CallList parked_;
  CallList paused_;
  size_t pending_ = 0;
  size_t pending_bytes_ = 0;
  bool closed_ = false;
  ClientStats stats_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cellar::client
