// What a node is told at its start. Filled by config.h from the command line and a TOML file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/balance/options.h"
#include "engine/options.h"
#include "io/base/log_setup.h"
#include "io/disk/backend.h"
#include "net/server/config/proxy_rules.h"
#include "net/server/config/security_options.h"
#include "net/server/config/table_owners.h"
#include "net/wire/frame.h"

namespace cellar::server {

// Of the program, as "0.1.0".
std::string_view version();

struct NetOptions {
  // Proxies before the node, and the clients that they name (PROXY protocol version 2).
  ProxyRules proxy;
  // Requests of one connection that are being worked on; then its socket is not read. 1 to 256.
  uint32_t in_flight = wire::kMaxInFlight;
  // Connections of one shard; more are closed at once. 1 to 1,000,000.
  uint32_t connections = 10'000;
  // A connection that says nothing for this long is closed; 0: never.
  int64_t idle_timeout_us = 900'000'000;
  // Until the preface and a hello must be complete.
  int64_t handshake_timeout_us = 5'000'000;
  // A frame that was begun, or an answer that is not taken, must move on within this.
  int64_t stall_timeout_us = 30'000'000;
  // What a stopping node waits for requests in flight.
  int64_t drain_timeout_us = 10'000'000;
  // How long a node that was told to stop goes on serving while it says that it drains, so that
  // proxies turn elsewhere; less when no connection is left. 0 to 10 min.
  int64_t drain_within_us = 5'000'000;
  // A request that took this long is kept among the slow ones, with where its time went; 0: none
  // is. 0 to 10 min.
  int64_t slow_request_us = 100'000;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
};

// The HTTP listener: health, metrics, admin API, console (net/http).
struct HttpOptions {
  std::string listen = "127.0.0.1:7421";  // empty: none
  // Names by which a browser or a scraper may call it, beside addresses and localhost; blanks
  // between them.
  std::string hosts;
};

struct BackupOptions {
  // Where backups may lie, absolute paths separated by commas, and what is below them; empty: none
  // may be taken.
  std::string directories;
  // What a job reads and writes a second; 0: no bound. 0 to 1 TiB.
  uint64_t rate_bytes_per_s = 64u << 20;
};

struct DiskOptions {
  // With less than this left on the disk of data_dir, requests that add data are refused; what is
  // left is for deletes, flushes and merges. 0: none is kept. 0 to 1 TiB.
  uint64_t reserve_bytes = 512u << 20;
};

struct ServerOptions {
  std::string data_dir;
  std::string listen = "127.0.0.1:7420";
  // "HOST:PORT" by which clients reach this node from where they are; empty: not told.
  std::string advertise;
  // Which of several nodes has which tables; this one is `advertise`.
  TableOwners owners;
  // Answers a proxy's agent check (agent_check.h); empty: none.
  std::string agent_listen;
  uint32_t shards = 0;  // 0: as many as cores
  bool pin = true;
  IoBackend io = IoBackend::automatic;
  engine::EngineOptions engine;
  engine::BalanceOptions balance;
  NetOptions net;
  LogOptions log;
  BackupOptions backup;
  DiskOptions disk;
  HttpOptions http;
  SecurityOptions security;
};

// The largest body that a node with these limits accepts: a row mutation and what surrounds it.
inline uint32_t frame_bytes(const engine::EngineOptions& engine) {
  const size_t wanted =
      std::max<size_t>(engine.limits.row_bytes, engine.limits.cell_bytes) + (size_t{1} << 20);
  return static_cast<uint32_t>(
      std::min<size_t>(std::max<size_t>(wanted, 16u << 20), wire::kLargestFrameBytes));
}

}  // namespace cellar::server
