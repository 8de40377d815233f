// A manifest that is larger than one edit may be is written whole.
#include "engine/manifest/whole_manifest.h"

#include <gtest/gtest.h>

#include "engine/store/local/local_stores.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

TEST(WholeManifest, IsWrittenInSeveralEditsIfItIsTooLargeForOne) {
  SimWorld world(1);
  SimLoop& loop = world.add_loop();
  MemDisk disk;
  MemFs fs(loop.executor(), disk);
  std::map<ManifestKey, ManifestEntry> entries;
  constexpr size_t kTablets = 80;
  for (uint64_t id = 1; id <= kTablets; ++id) {
    ManifestEntry& entry = entries[{ManifestKey::Kind::tablet, id}];
    entry.state = fmt::format("tablet {}", id);
    entry.items[id] = std::string(kMaxEditBytes / 64, 'x');
  }
  const auto written = [&]() -> Async<Result<std::map<ManifestKey, ManifestEntry>>> {
    CO_TRY(const auto store, co_await open_local_manifest_store(fs, {}));
    CO_TRY_VOID(co_await write_whole_manifest(*store, entries));
    auto loaded = co_await store->load();
    CO_TRY_VOID(co_await store->close());
    co_return loaded;
  };
  const auto loaded = world.block_on(loop, written());
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->size(), kTablets);
  for (const auto& [key, entry] : entries) {
    EXPECT_EQ(loaded->at(key).state, entry.state);
    EXPECT_EQ(loaded->at(key).items, entry.items);
  }
}

}  // namespace
}  // namespace cellar::engine
