// The bodies that this program knows, each through the suite of its interface.
#include "engine/store/local/local_stores.h"
#include "tests/engine/store/backup_store_suite.h"
#include "tests/engine/store/blob_store_suite.h"
#include "tests/engine/store/log_store_suite.h"
#include "tests/engine/store/manifest_store_suite.h"
#include "tests/engine/store/rados_beds.h"
#include "tests/engine/store/store_rig.h"
#include "tests/support/manifest_double.h"
#include "tests/support/mem_blob_store.h"

namespace cellar::engine {
namespace {

// A local body on a disk in memory. `Owned` is what make() returns and get() a store of.
template <class Store, class Owned>
class LocalBed final : public BedOf<Store> {
 public:
  using Make = std::function<Owned(StoreRig&)>;
  using Get = std::function<Store&(Owned&)>;

  LocalBed(Make make, Get get, MemFsOptions disk_options)
      : make_(std::move(make)), get_(std::move(get)), disk_options_(disk_options) {}

  Store& open() override {
    owned_.reset();
    rig_.emplace(disk_, ++life_, disk_options_);
    owned_.emplace(make_(*rig_));
    return get_(*owned_);
  }
  ShardExecutor executor() override { return rig_->loop.executor(); }
  bool run_until(const std::function<bool()>& done) override { return rig_->world.run_until(done); }

 private:
  const Make make_;
  const Get get_;
  const MemFsOptions disk_options_;
  MemDisk disk_;
  uint64_t life_ = 0;
  std::optional<StoreRig> rig_;
  std::optional<Owned> owned_;
};

// On a disk that answers at once in order, and on one that takes its time and shuffles.
constexpr MemFsOptions kAtOnce = {};
constexpr MemFsOptions kSlow = {.min_latency_us = 20, .max_latency_us = 2'000};

template <class Store>
StoreBody<Store> local_body(std::string name, std::function<std::unique_ptr<Store>(StoreRig&)> make,
                            MemFsOptions disk_options) {
  return {std::move(name), [make, disk_options] {
            using Owned = std::unique_ptr<Store>;
            const auto get = [](Owned& owned) -> Store& { return *owned; };
            return std::make_unique<LocalBed<Store, Owned>>(make, get, disk_options);
          }};
}

std::unique_ptr<BlobStore> local_blobs(StoreRig& rig) {
  return make_local_blob_store(*rig.fs, &rig.loop.timers());
}
std::unique_ptr<LogStore> local_logs(StoreRig& rig) {
  return make_local_log_store(*rig.fs, rig.runtime, small_log());
}
std::unique_ptr<ManifestStore> local_manifest(StoreRig& rig) {
  return value_of(rig.run(open_local_manifest_store(*rig.fs, ManifestOptions())));
}
// The double of a store that reads outcomes back.
std::unique_ptr<ManifestStore> manifest_that_tells(StoreRig& rig) {
  auto manifest = std::make_unique<support::ManifestDouble>(local_manifest(rig));
  manifest->set_reads_outcomes_back(true);
  return manifest;
}
std::unique_ptr<BackupStore> local_backups(StoreRig& rig) {
  return make_local_backup_store(*rig.fs);
}

// The blobs of a directory of backups.
BlobStoreBody blobs_of_backups() {
  return {"Backups", [] {
            using Owned = std::unique_ptr<BackupStore>;
            const auto get = [](Owned& owned) -> BlobStore& { return owned->blobs(); };
            return std::make_unique<LocalBed<BlobStore, Owned>>(local_backups, get, kAtOnce);
          }};
}

// The double of tests above the stores. Its data live as long as its bed.
class MemBlobBed final : public BedOf<BlobStore> {
 public:
  BlobStore& open() override { return blobs_; }
  ShardExecutor executor() override { return loop_.executor(); }
  bool run_until(const std::function<bool()>& done) override { return world_.run_until(done); }

 private:
  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  MemBlobStore blobs_{loop_.executor()};
};
BlobStoreBody blobs_in_memory() {
  return {"Memory", [] { return std::make_unique<MemBlobBed>(); }};
}

// A removal whose directory was not synced is repeated: only then it is durable.
TEST(LocalBackups, ARemovalIsDurableWhenItIsRepeated) {
  MemDisk disk;
  StoreRig rig(disk, 1, {});
  const auto store = local_backups(rig);
  expect_ok(rig.run(store->write("b", "content")));
  expect_ok(rig.rules.add("sync_dir path=backups nth=1 error=EIO"));
  EXPECT_FALSE(rig.run(store->remove("b")));
  expect_ok(rig.run(store->remove("b")));
  Random random(1);
  const auto left = disk.crash_image(CrashPolicy::none, random);
  StoreRig after(*left, 2, {});
  EXPECT_TRUE(value_of(after.run(local_backups(after)->names())).empty());
}

INSTANTIATE_TEST_SUITE_P(Bodies, BlobStoreSuite,
                         testing::Values(local_body<BlobStore>("Local", local_blobs, kAtOnce),
                                         local_body<BlobStore>("LocalSlow", local_blobs, kSlow),
                                         blobs_of_backups(), blobs_in_memory()),
                         name_of_body);
INSTANTIATE_TEST_SUITE_P(Bodies, LogStoreSuite,
                         testing::Values(local_body<LogStore>("Local", local_logs, kAtOnce),
                                         local_body<LogStore>("LocalSlow", local_logs, kSlow)),
                         name_of_body);
INSTANTIATE_TEST_SUITE_P(
    Bodies, ManifestStoreSuite,
    testing::Values(local_body<ManifestStore>("Local", local_manifest, kAtOnce),
                    local_body<ManifestStore>("LocalSlow", local_manifest, kSlow),
                    local_body<ManifestStore>("Double", manifest_that_tells, kAtOnce)),
    name_of_body);
INSTANTIATE_TEST_SUITE_P(Bodies, BackupStoreSuite,
                         testing::Values(local_body<BackupStore>("Local", local_backups, kAtOnce),
                                         local_body<BackupStore>("LocalSlow", local_backups,
                                                                 kSlow)),
                         name_of_body);
INSTANTIATE_TEST_SUITE_P(Remote, BlobStoreSuite, testing::ValuesIn(rados_bodies<BlobStore>()),
                         name_of_body);
INSTANTIATE_TEST_SUITE_P(Remote, BackupStoreSuite, testing::ValuesIn(rados_bodies<BackupStore>()),
                         name_of_body);

}  // namespace
}  // namespace cellar::engine
