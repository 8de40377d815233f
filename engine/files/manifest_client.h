// ManifestClient: a shard's access to the manifest. The store belongs to shard 0; an edit travels
// there by mailbox and its result returns.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/store/manifest_store.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

inline constexpr ShardId kHomeShard{0};  // shard of the manifest and the catalog

// One shard. The mailbox and the store must outlive it.
class ManifestClient {
 public:
  ManifestClient(Mailbox& mailbox, ManifestStore& store) : mailbox_(mailbox), store_(store) {}

  // Changes one tablet; returns its new version. See ManifestStore::commit.
  Async<Result<uint64_t>> commit(VersionEdit change) {
    auto work = [&store = store_, edit = TabletEdit(std::move(change))]() mutable {
      return store.commit(std::move(edit));
    };
    CO_TRY(const auto versions, co_await mailbox_.call_on(kHomeShard, std::move(work)));
    co_return versions.front();
  }

 private:
  Mailbox& mailbox_;
  ManifestStore& store_;
};

}  // namespace cellar::engine
