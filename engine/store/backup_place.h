// BackupPlace: a backup store that is open, with what it needs. A place is named by a text: the
// absolute path of a directory of the machine, or rados:POOL/NAME in a Ceph cluster.
#pragma once

#include <string>
#include <string_view>

#include "engine/store/backup_store.h"

namespace cellar::engine {

// Used on one shard. REQUIRES: close() was awaited before destruction.
class BackupPlace {
 public:
  virtual ~BackupPlace() = default;
  virtual BackupStore& store() = 0;
  // Calls of the store in progress fail soon, later ones at once, as far as the place can.
  virtual Async<void> interrupt() = 0;
  // REQUIRES: no call of the store is in progress or follows.
  virtual Async<void> close() = 0;
};

struct RadosPlace {
  std::string pool;
  std::string name;
};
inline constexpr std::string_view kRadosScheme = "rados:";
inline bool is_rados_place(std::string_view text) { return text.starts_with(kRadosScheme); }
// INVALID_ARGUMENT: POOL and NAME are each as check_backup_name() demands.
Result<RadosPlace> parse_rados_place(std::string_view text);

}  // namespace cellar::engine
