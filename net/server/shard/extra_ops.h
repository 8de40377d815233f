// ExtraOps: operations that a program may add to the protocol, in the range from kFirstExtraOp on.
// `cellard` adds none; a build for tests uses it to move its clock.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::server {

inline constexpr uint16_t kFirstExtraOp = 0xff00;

// Called on any shard, possibly on several at once.
class ExtraOps {
 public:
  virtual ~ExtraOps() = default;
  // Answered with an empty body, or with the error.
  virtual Result<void> handle(uint16_t op, Bytes body) = 0;
};

}  // namespace cellar::server
