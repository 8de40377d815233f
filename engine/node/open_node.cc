#include "engine/node/open_node.h"

#include <utility>

#include "engine/store/out_of_space.h"
#include "engine/store/store_factory.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

Async<Result<OpenedNode>> close_after_failure(std::unique_ptr<ManifestStore> manifest,
                                              Error error) {
  const Result<void> closed = co_await manifest->close();
  (void)closed;  // the first error is returned
  co_return std::unexpected(std::move(error));
}

Async<Result<OpenedNode>> open_to_write(StoreFactory& stores, EngineOptions options,
                                        std::vector<ShardEnv> shards, Mailboxes& mailboxes) {
  OpenedNode opened;
  CO_TRY(opened.manifest, co_await stores.open_manifest());
  auto node =
      co_await Node::open(std::move(options), std::move(shards), *opened.manifest, mailboxes);
  if (!node) co_return co_await close_after_failure(std::move(opened.manifest), node.error());
  opened.node = *std::move(node);
  co_return opened;
}

Async<Result<OpenedNode>> open_to_read(StoreFactory& stores, EngineOptions options,
                                       std::vector<ShardEnv> shards, Mailboxes& mailboxes,
                                       Error why) {
  OpenedNode opened;
  CO_TRY(opened.manifest, co_await stores.open_manifest_read_only(why));
  auto node = co_await Node::open_read_only(std::move(options), std::move(shards), *opened.manifest,
                                            mailboxes, why);
  if (!node) co_return co_await close_after_failure(std::move(opened.manifest), node.error());
  opened.node = *std::move(node);
  co_return opened;
}

}  // namespace

Async<Result<OpenedNode>> open_node(StoreFactory& stores, EngineOptions options,
                                    std::vector<ShardEnv> shards, Mailboxes& mailboxes) {
  auto opened = co_await open_to_write(stores, options, shards, mailboxes);
  if (opened || !is_out_of_space(opened.error())) co_return opened;
  const Error failure = opened.error();
  Error why(Errc::unavailable,
            fmt::format("the node was started read-only, the disk has no room for a start: {}",
                        failure.message));
  why.os_error = failure.os_error;
  log_error("node", "{}", why.message);
  opened = co_await open_to_read(stores, std::move(options), std::move(shards), mailboxes, why);
  if (!opened && opened.error().code == Errc::not_found) co_return std::unexpected(failure);
  co_return opened;
}

}  // namespace cellar::engine
