// SessionBlobIds: generates blob ids from session, shard and a counter, so that no id is used
// twice. A session has kBlobIdsPerSession of them; when half are used another session is requested,
// which is used as soon as it arrives. Owned by one shard.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "engine/compaction/merge_job.h"
#include "engine/model/types.h"
#include "io/base/result.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

class SessionBlobIds final : public BlobIds {
 public:
  static constexpr uint32_t kAskAt = kBlobIdsPerSession / 2;
  static constexpr uint32_t kRetryMs = 100;

  // `ask` requests a session asynchronously: it must be answered by renew() or not_drawn(), not
  // from inside the call.
  SessionBlobIds(SessionEpoch session, ShardId shard, std::function<void()> ask)
      : session_(session), shard_(shard.value()), ask_(std::move(ask)) {}
  Result<BlobId> next_blob_id() override;
  // REQUIRES: the session has never been used for an id of this shard.
  void renew(SessionEpoch session);
  // The request failed; the next id requests again.
  void not_drawn() { asked_ = false; }

 private:
  SessionEpoch session_;
  uint32_t shard_;
  std::function<void()> ask_;
  uint32_t counter_ = 0;
  bool asked_ = false;
};

}  // namespace cellar::engine
