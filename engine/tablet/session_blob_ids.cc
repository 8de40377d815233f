#include "engine/tablet/session_blob_ids.h"

#include "io/base/check.h"

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

}  // namespace cellar::engine
