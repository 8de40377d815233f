#include "io/disk/pool_fs.h"

#include "io/disk/pool_engine.h"

namespace cellar {

PoolFs::PoolFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root)
    : PosixFs(loop, pool, std::move(root)), engine_(std::make_unique<PoolEngine>(loop, pool)) {}

PoolFs::~PoolFs() = default;

IoEngine& PoolFs::engine() { return *engine_; }

Result<std::unique_ptr<FileSystem>> PoolFs::create(Loop& loop, const std::string& root,
                                                   BlockingPool& pool) {
  TRY(auto dir, PosixDir::open_root(root));
  return create(loop, std::move(dir), pool);
}

std::unique_ptr<FileSystem> PoolFs::create(Loop& loop, std::unique_ptr<PosixDir> root,
                                           BlockingPool& pool) {
  return std::unique_ptr<FileSystem>(new PoolFs(loop, pool, std::move(root)));
}

}  // namespace cellar
