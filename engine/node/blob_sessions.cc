#include "engine/node/blob_sessions.h"

#include <utility>
#include <vector>

#include "io/base/log.h"

namespace cellar::engine {

void BlobSessions::ask(ShardId shard) {
  const auto start = [this, shard] { spawn(shards_.home().runtime.executor, give(shard)); };
  if (shard == kHomeShard) return start();
  shards_.mailbox(shard).post_on(kHomeShard, start);
}

Async<void> BlobSessions::give(ShardId shard) {
  auto pass = gate_.enter();
  if (!pass) co_return;
  auto drawn = co_await draw();
  if (!drawn) {
    log_warn("node", "no session for the blobs of shard {}, the next one asks again: {}", shard,
             drawn.error().to_string());
  }
  const auto take = [this, shard, session = drawn ? *drawn : SessionEpoch{}] {
    SessionBlobIds& ids = shards_.engine(shard).blob_ids();
    session == SessionEpoch{} ? ids.not_drawn() : ids.renew(session);
  };
  if (shard == kHomeShard) {
    take();
  } else {
    shards_.mailbox(kHomeShard).post_on(shard, take);
  }
}

Async<Result<SessionEpoch>> BlobSessions::draw() {
  AsyncMutex::Lock lock = co_await catalog_.lock();
  const Catalog::NewSession plan = catalog_.tables().plan_session();
  std::vector<VersionEdit> edits{plan.edit};
  CO_TRY(const std::vector<uint64_t> versions, co_await catalog_.commit(std::move(edits)));
  catalog_.tables().drawn(plan, versions.front());
  co_return plan.node.session;
}

}  // namespace cellar::engine
