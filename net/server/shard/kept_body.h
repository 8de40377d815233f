// KeptBody: a copy of a request's body that outlives the receive buffer, for an operation that
// continues in the engine or on another shard. Its bytes count as requests of the node
// (node_memory.h) and against the shard's bound (Admission::hold_bytes).
#pragma once

#include <cstdint>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::server {

class ShardServer;

// One shard. Pooled with its operation.
class KeptBody {
 public:
  // Memory that an object in the pool keeps.
  static constexpr size_t kKeepBytes = 16 * 1024;

  // Copies the body, 8-byte aligned. REQUIRES: it is empty, and the shard's admission holds the
  // bytes.
  Bytes keep(ShardServer& shard, Bytes body);
  // Frees the copy, if any.
  void release(ShardServer& shard);
  bool is_large() const { return words_.capacity() * sizeof(uint64_t) > kKeepBytes; }

 private:
  std::vector<uint64_t> words_;
  size_t bytes_ = 0;
};

}  // namespace cellar::server
