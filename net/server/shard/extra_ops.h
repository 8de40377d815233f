// ExtraOps: operations that a program may add to the protocol, numbered from kFirstExtraOp.
// `cellard` adds none; a test build uses one to set its clock.
#pragma once

#include <cstdint>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::server {

inline constexpr uint16_t kFirstExtraOp = 0xff00;

// Called on any shard, possibly concurrently.
class ExtraOps {
 public:
  virtual ~ExtraOps() = default;
  // The reply is an empty body or the error.
  virtual Result<void> handle(uint16_t op, Bytes body) = 0;
};

}  // namespace cellar::server
