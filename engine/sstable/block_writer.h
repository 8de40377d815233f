// BlockWriter: builds the contents of one data block.
//
//   entry*     shared: varint, unshared: varint, value size: varint, the unshared bytes of the key,
//              value. A key takes its first `shared` bytes from the previous key.
//   restart*   u32: offsets of the entries with shared = 0, every kRestartInterval-th, for binary
//              search
//   count      u32, number of restarts; at least 1
#pragma once

#include <string>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::engine {

inline constexpr size_t kRestartInterval = 16;

class BlockWriter {
 public:
  // REQUIRES: key greater than the last one (checked by the caller).
  void add(Bytes key, Bytes value);
  // Closes the block; the view is valid until reset().
  Bytes finish();
  void reset();

  bool empty() const { return entries_ == 0; }
  size_t entries() const { return entries_; }
  // Size of the block that finish() would return now.
  size_t bytes() const { return out_.size() + (restarts_.size() + 1) * sizeof(uint32_t); }
  Bytes last_key() const { return last_key_; }

 private:
  std::string out_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
  size_t entries_ = 0;
};

}  // namespace cellar::engine
