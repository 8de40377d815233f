#include "engine/tablet/shard_context.h"

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

Result<BlobId> SessionBlobIds::next_blob_id() {
  if (counter_ >= kAskAt && !asked_) {
    asked_ = true;
    ask_();
  }
  if (counter_ == kBlobIdsPerSession) {
    return std::unexpected(
        Error(Errc::unavailable,
              fmt::format("shard {} has used the {} blob ids of session {} and waits for the next "
                          "session",
                          shard_, kBlobIdsPerSession, session_))
            .outcome(Applied::not_applied)
            .retry_after(kRetryMs));
  }
  return make_blob_id(session_, shard_, counter_++);
}

void SessionBlobIds::renew(SessionEpoch session) {
  CHECK(session > session_, "session {} after session {}", session, session_);
  session_ = session;
  counter_ = 0;
  asked_ = false;
}

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
