// The options of a node. config.h fills them from the command line, the environment and a TOML
// file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/balance/options.h"
#include "engine/options.h"
#include "io/base/log_setup.h"
#include "io/disk/backend.h"
#include "io/net/socket_backend.h"
#include "net/server/config/network_list.h"
#include "net/server/config/security_options.h"
#include "net/server/config/table_owners.h"
#include "net/wire/frame.h"

namespace cellar::server {

// Of the program, as "0.1.0".
std::string_view version();

struct NetOptions {
  // Trusted proxies, whose PROXY protocol headers (version 2) name the client.
  ProxyRules proxy;
  // Concurrent requests per connection; at the limit its socket is not read. 1 to 256.
  uint32_t in_flight = wire::kDefaultInFlight;
  // Connections per shard; further ones are closed at once. 1 to 1,000,000.
  uint32_t connections = 10'000;
  // Idle time after which a connection is closed; 0: never.
  int64_t idle_timeout_us = 900'000'000;
  // Time for the preface and hello.
  int64_t handshake_timeout_us = 5'000'000;
  // Time after which a connection is closed if a partial frame averages less than
  // Session::kSlowestFrameBytesPerS, or if the peer reads nothing of its replies.
  int64_t stall_timeout_us = 30'000'000;
  // How long a stopping node waits for requests in flight.
  int64_t drain_timeout_us = 10'000'000;
  // How long a stopping node still serves while it reports draining, so that proxies switch;
  // shorter if no connection is left. 0 to 10 min.
  int64_t drain_within_us = 5'000'000;
  // Requests that take at least this long are recorded as slow, with the time per stage; 0: none. 0
  // to 10 min.
  int64_t slow_request_us = 100'000;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
};

// The HTTP listener: health, metrics, admin API, console (net/http).
struct HttpOptions {
  std::string listen = "127.0.0.1:7421";  // empty: none
  // Accepted Host names besides addresses and localhost, separated by blanks.
  std::string hosts;
  // Origins (http://HOST:PORT, as browsers reach them) of the consoles that work together with this
  // node's, separated by blanks.
  std::string nodes;
};

struct BackupOptions {
  // Absolute paths, rados:POOL and rados:POOL/NAME, separated by commas: backups may lie in or
  // below these places; empty: backups are disabled.
  std::string directories;
  // Time between scheduled backups; 0: none are scheduled. Up to 365 days.
  int64_t every_us = 0;
  // Place of the scheduled backups, within `directories`.
  std::string into;
  // Of the backups in `into`, the newest `keep` are kept, and of these, if keep_for_us is not 0,
  // those that are not older. The newest is always kept. 1 to 10,000; 0 to 3,650 days.
  uint32_t keep = 7;
  int64_t keep_for_us = 0;
  // Bytes per second that a job reads and writes; 0: no limit. 0 to 1 TiB.
  uint64_t rate_bytes_per_s = 64u << 20;
};

// The Ceph cluster that holds backups in places rados:POOL/NAME.
struct CephOptions {
  std::string config;                    // path of ceph.conf; empty: none
  std::string client = "client.cellar";  // name in cephx, with `allow rw` on the pools
};

struct DiskOptions {
  // If less than this is free on the disk of data_dir, requests that add data are refused; the rest
  // is for deletes, flushes and merges. 0: no reserve. 0 to 1 TiB.
  uint64_t reserve_bytes = 512u << 20;
};

struct ServerOptions {
  std::string data_dir;
  std::string listen = "127.0.0.1:7420";
  // "HOST:PORT" at which clients reach this node; empty: not announced.
  std::string advertise;
  // Assignment of tables to independent nodes; this node is `advertise`.
  TableOwners owners;
  // Address of the agent check for proxies (agent_check.h); empty: none.
  std::string agent_listen;
  uint32_t shards = 0;  // 0: as many as cores
  bool pin = true;
  IoBackend io = IoBackend::automatic;
  SocketBackend sockets = SocketBackend::automatic;
  engine::EngineOptions engine;
  engine::BalanceOptions balance;
  NetOptions net;
  LogOptions log;
  BackupOptions backup;
  CephOptions ceph;
  DiskOptions disk;
  HttpOptions http;
  SecurityOptions security;
};

// The largest body that a node with these limits accepts: a row mutation with its overhead.
inline uint32_t frame_bytes(const engine::EngineOptions& engine) {
  const size_t wanted =
      std::max<size_t>(engine.limits.row_bytes, engine.limits.cell_bytes) + (size_t{1} << 20);
  return static_cast<uint32_t>(
      std::min<size_t>(std::max<size_t>(wanted, 16u << 20), wire::kLargestFrameBytes));
}

}  // namespace cellar::server
