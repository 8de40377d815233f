#include "engine/tablet/shard_log.h"

#include "io/base/log.h"

namespace cellar::engine {

bool ShardLog::is_stopped() {
  if (!stopped_ && log && log->failure() != nullptr) stop_writes("the log failed", *log->failure());
  return stopped_.has_value();
}

void ShardLog::stop_writes(std::string_view why, const Error& error) {
  if (stopped_) return;
  stopped_ = Error(Errc::unavailable, fmt::format("{}: {}", why, error.message));
  log_error("shard", "shard={} read-only: {}", shard_, stopped_->message);
}

Error ShardLog::refusal() const {
  return Error(Errc::unavailable,
               fmt::format("shard {} is read-only until the node is restarted: {}", shard_,
                           stopped_->message));
}

}  // namespace cellar::engine
