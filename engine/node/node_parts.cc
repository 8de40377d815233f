#include "engine/node/node_parts.h"

#include <utility>

#include "io/base/log.h"

namespace cellar::engine {

NodeParts::NodeParts(EngineOptions all_options, std::vector<ShardEnv> envs, ManifestStore& store,
                     Mailboxes& mailboxes, std::optional<Error> why_read_only)
    : options(std::move(all_options)),
      read_only(std::move(why_read_only)),
      manifest(store, envs.front().runtime),
      files(envs.front(), store),
      shards(std::move(envs), mailboxes),
      clocks(shards, manifest, options),
      catalog(shards, manifest),
      sessions(shards, catalog),
      loans(shards),
      creations(shards, catalog, clocks.keeper(), reshape_turn),
      alterations(shards, catalog, clocks.keeper()),
      drops(shards, catalog, clocks.keeper(), options),
      reshape(shards, catalog, files.shared_blobs, reshape_turn, read_only),
      calls(shards, files.deleter, options.removal_margin_us),
      previews(shards, catalog, clocks.keeper(), alterations),
      index_checks(shards),
      backups(shards, catalog, clocks.keeper(), manifest, files.deleter, calls, creations) {
  manifest.on_failure([this](const Error& error) { shards.manifest_failed(error); });
}

NodeParts::~NodeParts() { manifest.on_failure({}); }

Async<void> NodeParts::stop() {
  co_await sessions.close();
  co_await loans.stop();
  co_await clocks.keeper().stop();
  co_await drops.stop();
}

Async<void> NodeParts::discard(const Error& why) {
  co_await stop();
  auto end = [this, &why](ShardId shard) -> Async<Result<void>> {
    if (!shards.has_part(shard)) co_return Result<void>{};
    shards.engine(shard).stop_writes(why);
    auto closed = co_await shards.engine(shard).close();
    shards.destroy_part(shard);
    co_return closed;
  };
  auto ended = co_await shards.on_every(std::move(end));
  co_await files.old_logs.close();
  co_await files.deleter.drain();
  if (!ended) log_warn("node", "closing after a failed start: {}", ended.error().to_string());
}

Async<Result<void>> NodeParts::close() {
  co_await stop();
  auto end = [this](ShardId shard) { return shards.engine(shard).close(); };
  Result<void> outcome = co_await shards.on_every(std::move(end));
  co_await files.old_logs.close();
  auto destroy = [this](ShardId shard) -> Async<Result<void>> {
    shards.destroy_part(shard);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards.on_every(std::move(destroy)));
  co_await files.deleter.drain();
  auto closed = co_await manifest.close();
  if (!closed && outcome) outcome = std::move(closed);
  co_return outcome;
}

}  // namespace cellar::engine
