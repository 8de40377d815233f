// ShardLog: the open log of a shard, and whether the shard accepts writes. Writes stop for good
// when the log or the manifest has failed, or from the start of a read-only node on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/store/log_store.h"
#include "engine/write/log_deaths.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

class ShardLog {
 public:
  // `stopped`: why nothing may be written, if so.
  ShardLog(ShardId shard, std::optional<Error> stopped)
      : shard_(shard), stopped_(std::move(stopped)) {}

  std::unique_ptr<Log> log;   // set once recovery has begun it
  LogDeaths deaths;           // when what has died should leave the log
  uint64_t growth_bytes = 0;  // payload appended since the last check of its length

  // True when the shard refuses writes; detects a log that has failed meanwhile.
  bool is_stopped();
  // Why; nullopt: it accepts writes, or no call has detected that the log failed.
  const std::optional<Error>& stopped() const { return stopped_; }
  // Stops the writes because of `error`. The first reason is kept.
  void stop_writes(std::string_view why, const Error& error);
  // Stops them before the shard is closed; replaces the reason.
  void give_up(const Error& why) { stopped_ = why; }
  // The refusal of a write. REQUIRES: is_stopped().
  Error refusal() const;

 private:
  ShardId shard_;
  std::optional<Error> stopped_;
};

}  // namespace cellar::engine
