// PoolFs: FileSystem over a thread pool, for machines and containers that forbid io_uring. The same
// contract; an operation costs two thread switches, and the lock is not held by writes in flight
// (a killed process takes its pool threads along, so none of its writes lands late).
#pragma once

#include <memory>

#include "io/disk/posix_fs.h"

namespace cellar {

class PoolEngine;

class PoolFs final : public PosixFs {
 public:
  // REQUIRES of the destructor: every file closed, nothing in flight.
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
