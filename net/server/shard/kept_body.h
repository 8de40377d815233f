// KeptBody: the copy of a request's body that outlives its receive buffer, for an operation that
// another shard or the engine needs later. What it holds counts as requests of the node
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
  // What one in a pool keeps of its memory.
  static constexpr size_t kKeepBytes = 16 * 1024;

  // Answers the copy, 8-byte aligned. REQUIRES: nothing is kept, and the shard's admission holds
  // its bytes.
  Bytes keep(ShardServer& shard, Bytes body);
  // Forgets it; does nothing when nothing is kept.
  void release(ShardServer& shard);
  bool is_large() const { return words_.capacity() * sizeof(uint64_t) > kKeepBytes; }

 private:
  std::vector<uint64_t> words_;
  size_t bytes_ = 0;
};

}  // namespace cellar::server
