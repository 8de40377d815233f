#include "engine/node/node_catalog.h"

namespace cellar::engine {

void NodeCatalog::load(ManifestContents& manifest) {
  catalog_.load(manifest);
  audit_ = std::move(manifest.audit);
}

Async<Result<std::vector<uint64_t>>> NodeCatalog::commit(std::vector<VersionEdit> changes,
                                                         std::vector<AuditEntry> entries,
                                                         Author by) {
  CatalogEdit edit(std::move(changes));
  if (entries.empty()) co_return co_await manifest_.commit(std::move(edit));
  for (AuditEntry& entry : entries) {
    entry.at_us = shards_.now_us();
    entry.by = by;
  }
  AuditTrail::Addition addition = audit_.plan(std::move(entries));
  edit.changes.push_back(addition.edit);
  CO_TRY(std::vector<uint64_t> versions, co_await manifest_.commit(std::move(edit)));
  audit_.written(std::move(addition), versions.back());
  versions.pop_back();
  co_return versions;
}

Async<Result<void>> NodeCatalog::publish() {
  auto install = [this](ShardId shard) -> Async<Result<void>> {
    shards_.part(shard).install(catalog_.map());
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(install));
}

}  // namespace cellar::engine
