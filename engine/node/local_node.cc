#include "engine/node/local_node.h"

#include <utility>

#include "engine/store/manifest/local_manifest_store.h"
#include "engine/store/out_of_space.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

Async<Result<LocalNode>> close_after_failure(std::unique_ptr<ManifestStore> manifest, Error error) {
  const Result<void> closed = co_await manifest->close();
  (void)closed;  // the first error is returned
  co_return std::unexpected(std::move(error));
}

Async<Result<LocalNode>> open_to_write(FileSystem& fs, EngineOptions options,
                                       std::vector<ShardEnv> shards, Mailboxes& mailboxes) {
  LocalNode opened;
  CO_TRY(opened.manifest, co_await LocalManifestStore::open(fs, ManifestOptions()));
  auto node =
      co_await Node::open(std::move(options), std::move(shards), *opened.manifest, mailboxes);
  if (!node) co_return co_await close_after_failure(std::move(opened.manifest), node.error());
  opened.node = *std::move(node);
  co_return opened;
}

Async<Result<LocalNode>> open_to_read(FileSystem& fs, EngineOptions options,
                                      std::vector<ShardEnv> shards, Mailboxes& mailboxes,
                                      Error why) {
  LocalNode opened;
  CO_TRY(opened.manifest, co_await LocalManifestStore::open_read_only(fs, why));
  auto node = co_await Node::open_read_only(std::move(options), std::move(shards), *opened.manifest,
                                            mailboxes, why);
  if (!node) co_return co_await close_after_failure(std::move(opened.manifest), node.error());
  opened.node = *std::move(node);
  co_return opened;
}

}  // namespace

Async<Result<LocalNode>> open_local_node(FileSystem& fs, EngineOptions options,
                                         std::vector<ShardEnv> shards, Mailboxes& mailboxes) {
  auto opened = co_await open_to_write(fs, options, shards, mailboxes);
  if (opened || !is_out_of_space(opened.error())) co_return opened;
  const Error failure = opened.error();
  Error why(Errc::unavailable,
            fmt::format("the node was started read-only, the disk has no room for a start: {}",
                        failure.message));
  why.os_error = failure.os_error;
  log_error("node", "{}", why.message);
  opened = co_await open_to_read(fs, std::move(options), std::move(shards), mailboxes, why);
  if (!opened && opened.error().code == Errc::not_found) co_return std::unexpected(failure);
  co_return opened;
}

}  // namespace cellar::engine
