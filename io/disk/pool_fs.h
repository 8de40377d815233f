// PoolFs: FileSystem over a thread pool, for machines and containers that forbid io_uring. Same
// contract. An operation costs two thread switches. Writes in flight do not hold the lock: a killed
// process takes its pool threads along, so none of its writes lands late.
#pragma once

#include <memory>

#include "io/disk/posix_fs.h"

namespace cellar {

class PoolEngine;

class PoolFs final : public PosixFs {
 public:
  // The destructor REQUIRES that every file is closed and nothing is in flight.
  static Result<std::unique_ptr<FileSystem>> create(Loop& loop, const std::string& root,
                                                    BlockingPool& pool);
  static std::unique_ptr<FileSystem> create(Loop& loop, std::unique_ptr<PosixDir> root,
                                            BlockingPool& pool);
  ~PoolFs() override;
  std::string_view name() const override { return "threads"; }

 private:
  PoolFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root);
  IoEngine& engine() override;

  const std::unique_ptr<PoolEngine> engine_;
};

}  // namespace cellar
