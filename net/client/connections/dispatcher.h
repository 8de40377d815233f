// Dispatcher: every call of a client, from the moment it is asked until it is finished: admission,
// the connection it goes to, and what follows an attempt that failed.
//
// A call is always in one place: parked (no room), in a connection, or paused (before its next
// attempt). `charged_bytes_` of it counts against the client's bounds from admission to the end.
//
// Which connection. A call without a row, or of a table whose map is not known, goes by its
// affinity to one of the `connections` of the options. After kRouteAfter requests to a table, and
// if the node has several shards, its map is fetched; then a row's call goes to a connection of its
// tablet's shard and names tablet and epoch. A refusal with a hint corrects the map and is followed
// at once, kMaxRedirects times; a tablet that the map does not know makes it be fetched again.
//
// What holds for order. Writes of one row that are under way at the same time share a connection
// (`sticky_`), so they apply in the order of the calls, whatever happens to map and connections
// meanwhile. The exception is a write that is sent again: it may land behind a later one. Who
// cannot have that waits for each answer, or uses a BatchWriter.
//
// Serial part: everything; one loop.
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
  uint64_t redirects = 0;  // of them, after the hint of a node
  uint64_t routed = 0;     // requests that went to the shard of their tablet
  uint64_t maps = 0;       // tablet maps fetched
  uint64_t refused = 0;    // for lack of room in this client
  size_t pending = 0;      // now: requests taken and not finished
  size_t pending_bytes = 0;
};

class Dispatcher final : public CallOwner, private PoolOwner {
 public:
  static constexpr uint32_t kMaxRedirects = 4;     // of one call, followed at once
  static constexpr uint32_t kRouteAfter = 32;      // requests to a table before its map is fetched
  static constexpr int64_t kMapPauseUs = 100'000;  // between two fetches of one map
  static constexpr size_t kMaxTables = 1024;       // whose maps are kept
  static constexpr size_t kMaxOwners = 16;         // other nodes that hints led to

  Dispatcher(ClientEnv env, const ClientOptions& options, std::shared_ptr<Encoder> encoder,
             std::shared_ptr<BlockPool> pool);
  ~Dispatcher();

  // Takes charge of the call: it is finished exactly once, never inside this function.
  void submit(Call& call);
  // A call whose answer asks for another attempt after a pause; its deadline and attempts stand.
  void submit_again(Call& call, int64_t pause_us);
  static void cancel(Call& call);
  // Fails everything with CANCELLED. Nothing may follow.
  void close();

  // Where a row's request would go; requests with one number may share a batch. Absent: not known.
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
    int64_t fetch_from_us = 0;  // not before
    std::string owner;          // another node has it; empty: the one of the options
  };
  // Connections to a node that a hint named.
  struct Owner {
    ClientOptions options;
    std::optional<ConnectionPool> pool;
  };
  struct Sticky {
    Connection* connection = nullptr;
    uint32_t writes = 0;  // under way
  };

  bool takes_back(Call& call, const Error& error, Ending ending,
                  const wire::TabletHint* hint) override;
  void settled(Call& call, bool answered) override;
  void on_call_timer(Call& call) override;
  void cancel_waiting(Call& call, Error why, Reach reach) override;
  void on_orphans(CallList calls) override;
  void on_connection_lost(Connection& connection) override;
  void on_another_node() override;

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
  void name_tablet(Call& call, uint64_t tablet_id, uint64_t epoch);
  void stick(Call& call, Connection& connection);
  void unstick(Call& call);
  Table& table_of(std::string_view name);
  void fetch_map(std::string_view name, Table& table);

  ClientEnv env_;
  const ClientOptions& options_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<BlockPool> pool_;
  RetryPolicy policy_;
  std::optional<ConnectionPool> connections_;  // none: the options cannot be
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
