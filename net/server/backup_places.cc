#include "net/server/backup_places.h"

#include <utility>

#include "engine/store/rados/rados_backup_store.h"
#include "io/remote/rados/librados_handle.h"

namespace cellar::server {
namespace {

// A stop of the node may wait so long for a cluster whose monitors, or OSDs, do not answer.
constexpr int kMonitorTimeoutS = 10;
constexpr int kOperationTimeoutS = 30;

class DirectoryPlace final : public engine::BackupPlace {
 public:
  explicit DirectoryPlace(std::unique_ptr<FileSystem> fs)
      : fs_(std::move(fs)), store_(engine::make_local_backup_store(*fs_)) {}

  engine::BackupStore& store() override { return *store_; }
  // A call of a file system cannot be interrupted; a job notices its cancellation between two.
  Async<void> interrupt() override { co_return; }
  Async<void> close() override { co_return; }

 private:
  std::unique_ptr<FileSystem> fs_;
  std::unique_ptr<engine::BackupStore> store_;
};

// A connection of its own for each job, which is rare.
class CephPlace final : public engine::BackupPlace {
 public:
  CephPlace(Runtime runtime, std::unique_ptr<LibradosHandle> handle, Loop& loop)
      : runtime_(runtime), handle_(std::move(handle)), port_(handle_->connect(loop)) {}

  Async<Result<void>> open(engine::RadosPlace place) {
    CO_TRY(store_, co_await engine::open_rados_backup_store(*port_, runtime_, std::move(place)));
    co_return Result<void>();
  }
  engine::BackupStore& store() override { return *store_; }
  Async<void> interrupt() override { return port_->close(); }
  Async<void> close() override {
    store_.reset();
    co_await port_->close();
    port_.reset();
    co_await handle_->close();
  }

 private:
  Runtime runtime_;
  std::unique_ptr<LibradosHandle> handle_;
  std::unique_ptr<RadosPort> port_;
  std::unique_ptr<engine::BackupStore> store_;
};

Async<Result<OpenedPlace>> open_ceph(Loop& loop, Runtime runtime, BlockingPool& pool,
                                     CephOptions ceph, engine::RadosPlace place) {
  CephConfig config;
  config.config_file = std::move(ceph.config);
  config.client = std::move(ceph.client);
  config.monitor_timeout_s = kMonitorTimeoutS;
  config.operation_timeout_s = kOperationTimeoutS;
  CO_TRY(auto handle, co_await LibradosHandle::open(pool, std::move(config), 1));
  auto opened = std::make_unique<CephPlace>(runtime, std::move(handle), loop);
  auto there = co_await opened->open(std::move(place));
  if (!there) {
    co_await opened->close();
    co_return std::unexpected(std::move(there).error());
  }
  co_return opened;
}

}  // namespace

OpenedPlace make_directory_place(std::unique_ptr<FileSystem> fs) {
  return std::make_unique<DirectoryPlace>(std::move(fs));
}

Async<Result<OpenedPlace>> open_backup_place(Loop& loop, Runtime runtime, BlockingPool& pool,
                                             CephOptions ceph, DirectoryRequest request) {
  if (engine::is_rados_place(request.path)) {
    CO_TRY(auto place, engine::parse_rados_place(request.path));
    co_return co_await open_ceph(loop, runtime, pool, std::move(ceph), std::move(place));
  }
  CO_TRY(auto fs, co_await open_directory(loop, pool, std::move(request)));
  co_return make_directory_place(std::move(fs));
}

}  // namespace cellar::server
