#include "engine/node/node_shards.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

NodeShards::NodeShards(std::vector<ShardEnv> envs, Mailboxes& mailboxes)
    : envs_(std::move(envs)), mailboxes_(mailboxes), parts_(envs_.size()) {
  CHECK(!envs_.empty() && envs_.size() == mailboxes_.shards(), "{} shards, {} mailboxes",
        envs_.size(), mailboxes_.shards());
}

void NodeShards::make_part(ShardId shard, ShardEngine::Setup setup) {
  parts_[shard.value()] = std::make_unique<ShardPart>(env(shard), std::move(setup));
}

void NodeShards::logs_begun(SessionEpoch session) {
  for (uint32_t i = 0; i < count(); ++i) logs_.push_back(make_log_id(session, i));
}

TabletsByShard NodeShards::tablets_of(const TableEntry& entry) const {
  TabletsByShard ids(count());
  for (const TabletDescriptor& tablet : entry.tablets) {
    ids[tablet.shard.value()].push_back(tablet.id);
  }
  return ids;
}

Async<void> NodeShards::run_on(ShardId shard, const Work& work, Result<void>& outcome, size_t& left,
                               Waiter& all_done) {
  auto there = [&work, shard] { return work(shard); };
  outcome = co_await mailbox(kHomeShard).call_on(shard, std::move(there));
  if (--left == 0) all_done.resume();
}

Async<Result<void>> NodeShards::on_every(Work work) {
  std::vector<Result<void>> outcomes(count());
  size_t left = count();
  Waiter all_done;
  for (uint32_t i = 0; i < count(); ++i) {
    spawn(home().runtime.executor, run_on(ShardId{i}, work, outcomes[i], left, all_done));
  }
  co_await all_done.wait();
  for (Result<void>& outcome : outcomes) {
    if (!outcome) co_return std::move(outcome);
  }
  co_return Result<void>{};
}

Async<Result<NodeShards::Stamps>> NodeShards::stamps_of(const TabletsByShard& ids) {
  std::vector<CommitStamp> last(count());
  std::vector<CommitStamp> gc_watermark(count());
  auto ask = [this, &ids, &last, &gc_watermark](ShardId shard) -> Async<Result<void>> {
    last[shard.value()] = engine(shard).last_stamp(ids[shard.value()]);
    gc_watermark[shard.value()] = engine(shard).gc_watermark(ids[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every(std::move(ask)));
  co_return Stamps{*std::max_element(last.begin(), last.end()),
                   *std::min_element(gc_watermark.begin(), gc_watermark.end())};
}

// A shard processes this message before later ones, so also before the parts are destroyed. Shard
// 0's own part is notified directly.
void NodeShards::manifest_failed(const Error& error) {
  const auto tell = [this](ShardId shard, const Error& why) {
    if (has_part(shard)) engine(shard).manifest_failed(why);
  };
  tell(kHomeShard, error);
  for (uint32_t i = 1; i < count(); ++i) {
    mailbox(kHomeShard).post_on(ShardId{i}, [tell, shard = ShardId{i}, error] {
      tell(shard, error);
    });
  }
}

}  // namespace cellar::engine
