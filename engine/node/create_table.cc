#include "engine/node/create_table.h"

#include <set>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "engine/store/blob/blob_files.h"

namespace cellar::engine {

Async<Result<TableEntry>> TableCreations::create(TableSpec spec, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  const CommitStamp floor{static_cast<uint64_t>(shards_.now_us()) * 1000};
  auto plan = catalog_.tables().plan_create(std::move(spec), floor, shards_.logs());
  if (!plan) co_return std::unexpected(std::move(plan).error());
  auto versions =
      co_await catalog_.commit(plan->edits, describe_creation(plan->entry.schema), std::move(by));
  if (!versions) co_return std::unexpected(std::move(versions).error());
  catalog_.tables().created(*plan, *versions);

  std::vector<std::vector<TabletSeed>> seeds(shards_.count());
  for (TabletSeed& seed : plan->seeds) {
    seeds[catalog_.tables().shard_of(seed.state.home).value()].push_back(std::move(seed));
  }
  auto install = [this, &seeds](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).add(std::move(seeds[shard.value()]));
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards_.on_every(std::move(install)));
  CO_TRY_VOID(co_await catalog_.publish());
  co_return std::move(plan->entry);
}

Async<Result<TableEntry>> TableCreations::adopt(TableSchema schema, std::vector<TabletSeed> tablets,
                                                AuditDetail detail, Author by) {
  AsyncMutex::Lock reshape = co_await reshape_turn_.lock();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Creation plan,
         catalog_.tables().plan_adopt(std::move(schema), std::move(tablets), shards_.logs()));
  AuditEntry entry = entry_about(AuditAction::create_table, plan.entry.schema);
  entry.details.push_back(std::move(detail));
  std::vector<AuditEntry> entries;
  entries.push_back(std::move(entry));
  co_return co_await install_adopted(std::move(plan), std::move(entries), std::move(by));
}

Async<Result<TableEntry>> TableCreations::install_adopted(Catalog::Creation plan,
                                                          std::vector<AuditEntry> entries,
                                                          Author by) {
  std::vector<std::vector<TabletSeed>> seeds(shards_.count());
  for (const TabletSeed& seed : plan.seeds) {
    seeds[catalog_.tables().shard_of(seed.state.home).value()].push_back(seed);
  }
  auto stage = [this, &seeds](ShardId shard) -> Async<Result<void>> {
    CO_TRY(const std::set<BlobId> lost,
           co_await shards_.engine(shard).reshape().stage(seeds[shard.value()]));
    if (lost.empty()) co_return Result<void>();
    co_return fail(Errc::data_loss, "{} cannot be opened", blob_path(*lost.begin()));
  };
  Result<void> staged = co_await shards_.on_every(std::move(stage));
  Result<std::vector<uint64_t>> versions = std::vector<uint64_t>();
  if (staged) versions = co_await catalog_.commit(plan.edits, std::move(entries), std::move(by));
  if (!staged || !versions) {
    auto unstage = [this](ShardId shard) -> Async<Result<void>> {
      shards_.engine(shard).reshape().unstage();
      co_return Result<void>{};
    };
    CO_TRY_VOID(co_await shards_.on_every(std::move(unstage)));
    co_return std::unexpected(staged ? versions.error() : staged.error());
  }
  catalog_.tables().created(plan, *versions);
  std::vector<std::vector<uint64_t>> installed(shards_.count());
  for (const TabletSeed& seed : plan.seeds) {
    installed[catalog_.tables().shard_of(seed.state.home).value()].push_back(seed.version);
  }
  auto install = [this, &installed](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).reshape().install(installed[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards_.on_every(std::move(install)));
  CO_TRY_VOID(co_await catalog_.publish());
  co_return std::move(plan.entry);
}

}  // namespace cellar::engine
