// FullWrite: one complete write of a file, across short transfers. Owned by the caller; must stay
// in place until `done` has run. Errors are not retried.
#pragma once

#include <optional>
#include <span>

#include "io/disk/file.h"

namespace cellar::engine {

class FullWrite {
 public:
  FullWrite() = default;
  FullWrite(const FullWrite&) = delete;
  FullWrite& operator=(const FullWrite&) = delete;

  // `file` and `from` must outlive the write and, for a direct file, obey its alignment.
  void start(File& file, uint64_t offset, std::span<const std::byte> from, IoClass io_class,
             bool dsync);

  // Called from the loop when everything is written, or with `error` set.
  void (*done)(FullWrite& write) = nullptr;
  void* context = nullptr;
  std::optional<Error> error;

 private:
  static void on_io(IoOp& op);
  void submit();

  File* file_ = nullptr;
  uint64_t offset_ = 0;
  std::span<const std::byte> left_;
  IoOp op_;
};

}  // namespace cellar::engine
