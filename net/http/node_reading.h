// NodeReading: the figures of a whole node at one time, gathered from the shards one after another.
// A value type. Metrics, the API and the history are computed from it on the HTTP loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/node.h"
#include "engine/shard_figures.h"
#include "net/http/served_node.h"
#include "net/server/requests/backup_jobs.h"
#include "net/server/shard/request_meter.h"
#include "net/server/shard/shard_server.h"

namespace cellar::http {

struct ShardReading {
  engine::EngineStats engine;
  engine::ShardFigures figures;
  server::ShardServer::Counters counters;
  server::RequestMeter::Figures requests;
  uint64_t slow_requests = 0;
  uint32_t connections = 0;
  uint32_t scans = 0;
  uint64_t held_bytes = 0;           // by requests
  uint64_t pending_reply_bytes = 0;  // by replies
  uint64_t later_length = 0;         // reads that wait for their slice
  uint64_t mailbox_overflowed = 0;
  LoopReading loop;
};

struct TableReading {
  TableId id;
  std::string name;
  uint64_t tablets = 0;
  uint64_t bytes = 0;
  uint64_t zstd_bytes = 0;  // on disk, in tables compressed with Zstandard
  uint64_t unflushed_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;
  uint64_t held_bytes = 0;    // kept by undo windows
  uint64_t pinned_bytes = 0;  // replaced files still in use
  uint64_t damaged_sstables = 0;
  engine::VerifiedFigures verified{};
  uint64_t sstables = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  int64_t oldest_death_us = INT64_MAX;  // INT64_MAX: no dead data
  int64_t next_reclaim_us = INT64_MAX;  // INT64_MAX: unknown or none planned
  int64_t missed_us = 0;                // how long the reclaim deadline has been missed; 0: met
  engine::DeathForecast dying;
  // Dropped by merges and removals since its tablets were opened on their shards.
  uint64_t left_cells = 0;
  uint64_t left_bytes = 0;
  engine::IndexStates indexes;
};

struct NodeReading {
  int64_t at_us = 0;    // time of the HTTP loop
  int64_t wall_us = 0;  // time of the node
  int64_t uptime_us = 0;
  std::vector<ShardReading> shards;
  engine::ClockReport clock;
  uint64_t answers_bytes = 0;   // see NodeMemory
  uint64_t requests_bytes = 0;  // see NodeMemory
  uint64_t disk_free_bytes = server::DiskRoom::kUnknown;
  uint64_t disk_reserve_bytes = 0;
  int64_t certificate_expires_us = 0;  // 0: no TLS
  std::optional<int64_t> newest_backup_us;
  server::BackupCounts backups;
};

struct TableReadings {
  int64_t at_us = 0;
  std::vector<TableReading> tables;            // sorted by name
  std::vector<engine::TabletFigures> tablets;  // sorted by table, then row
};

}  // namespace cellar::http
