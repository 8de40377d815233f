// HandleCache: the handles that one connection has bound (schema/PROTOCOL.md, "Handles"). A target
// gets a handle when it is used first; the oldest binding is replaced when all handles are in use.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/wire/frame.h"

namespace cellar::client {

struct HandleTarget {
  std::string table;
  uint64_t tablet_id = 0;
  uint64_t epoch = 0;
  bool operator==(const HandleTarget&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const HandleTarget& t) {
    return H::combine(std::move(h), t.table, t.tablet_id, t.epoch);
  }
};

// One connection.
class HandleCache {
 public:
  // The handle of the table and, unless they are 0, tablet and epoch. For a new target the bind
  // frame is appended to `out`, where the request must follow.
  uint32_t name(std::string_view table, uint64_t tablet_id, uint64_t epoch, std::string& out);
  // What the handle stands for; null: it is not bound.
  const HandleTarget* target(uint32_t handle) const {
    return handle == 0 || handle > bound_.size() ? nullptr : &bound_[handle - 1];
  }
  // The connection was lost.
  void clear() { *this = HandleCache(); }

 private:
  using Target = HandleTarget;

  bool is_last(std::string_view table, uint64_t tablet_id, uint64_t epoch) const;
  static void append_bind(std::string& out, uint32_t handle, const Target& target);

  absl::flat_hash_map<Target, uint32_t> handles_;
  std::vector<Target> bound_;  // by handle - 1
  uint32_t newest_ = 0;        // bound last; 0: none
  uint32_t last_ = 0;          // used last; 0: none
};

}  // namespace cellar::client
