#include "engine/shard_context.h"

#include "io/base/log.h"

namespace cellar::engine {

void ShardContext::stop_writes(std::string_view why, const Error& error) {
  if (stopped) return;
  stopped = Error(Errc::unavailable, fmt::format("{}: {}", why, error.message));
  log_error("shard", "shard={} read-only: {}", shard, stopped->message);
}

bool ShardContext::is_stopped() {
  if (!stopped && log && log->failure() != nullptr) stop_writes("the log failed", *log->failure());
  return stopped.has_value();
}

Error read_only_error(const ShardContext& shard) {
  return Error(Errc::unavailable,
               fmt::format("shard {} is read-only until the node is restarted: {}", shard.shard,
                           shard.stopped->message));
}

}  // namespace cellar::engine
