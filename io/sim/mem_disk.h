// MemDisk: an in-memory disk that can produce the state after a power failure.
//
// Until the contract of file.h makes them durable, three things may be lost: every 512-byte unit
// written and not synced, every size change, and every created, renamed or removed name whose
// directory was not synced (a rename is kept or lost as a whole). Operations in flight count as
// unsynced. After a failed sync the dirty units are lost permanently although reads still return
// them, as on Linux.
//
//   MemDisk disk;
//   MemFs fs(loop, disk);                       // any number, for example one per shard
//   ... work ...
//   Random random(seed);
//   auto after = disk.crash_image(CrashPolicy::random_subset, random);
//   MemFs fs_after(loop, *after);               // recover from this
//
// Callable from any thread: one lock protects the disk.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/random.h"
#include "io/base/result.h"
#include "io/disk/file.h"
#include "io/sim/mem_node.h"

namespace cellar {

enum class CrashPolicy : uint8_t {
  none,           // all unsynced state is lost
  all,            // everything is kept, including writes in flight
  random_subset,  // each unit and each directory change is kept or lost independently
  // everything is kept, but of each write in flight (or of the last write if there is none) only a
  // proper prefix of its units
  torn_last_write,
};

class MemDisk {
 public:
  MemDisk();
  ~MemDisk();
  MemDisk(const MemDisk&) = delete;
  MemDisk& operator=(const MemDisk&) = delete;

  // The state after a power failure at this moment. This disk does not change.
  std::unique_ptr<MemDisk> crash_image(CrashPolicy policy, Random& random) const;
  // A copy that includes unsynced state, without operations in flight or locks.
  std::unique_ptr<MemDisk> clone() const;

  // Growth beyond the limit fails with ENOSPC; a file uses whole 4 KiB chunks.
  void set_bytes_limit(uint64_t limit);
  uint64_t used_bytes() const;

  // For tests. NOT_FOUND unless `path` is a file. write_all creates the file (its directory must
  // exist) and is durable at once; corrupt changes one byte for readers and crash images.
  Result<std::string> read_all(std::string_view path) const;
  Result<void> write_all(std::string_view path, std::string_view content);
  Result<void> corrupt(std::string_view path, uint64_t offset, uint8_t xor_mask);
  std::vector<std::string> all_files() const;  // sorted paths
  bool has_unsynced(std::string_view path) const;

  // Operations used by MemFs.
  using Node = std::shared_ptr<MemNode>;
  Result<Node> open(std::string_view path, OpenOptions::Mode mode);
  Result<void> remove(std::string_view path);
  Result<void> rename(std::string_view from, std::string_view to);
  Result<void> create_dir(std::string_view path);
  Result<void> sync_dir(std::string_view path);
  Result<std::vector<DirEntry>> list(std::string_view path) const;
  uint64_t free_bytes() const;
  Result<void> resize(MemNode& node, uint64_t to, std::string_view path);
  uint64_t size_of(const MemNode& node) const;
  void drop_unsynced(MemNode& node);
  bool try_lock(std::string_view path);
  void unlock(std::string_view path);

  // An operation is in flight from begin() until end(), which executes it and sets op.result, or
  // until forget().
  void begin(const Node& node, IoOp& op);
  void end(IoOp& op);
  void forget(const IoOp& op);

 private:
  struct InFlight {
    IoOp* op;
    Node node;
    MemNode::DirtyUnits sync_units;  // for a sync: units completed when it was submitted
    uint64_t sync_size = 0;
  };
  struct DirChange {
    enum class Kind : uint8_t { create, remove, rename } kind;
    Node dir;
    std::string name;
    Node target;
    Node to_dir;  // for a rename
    std::string to_name;
  };
  struct LastWrite {
    std::weak_ptr<MemNode> node;
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  class Copier;

  Result<Node> find(std::string_view path) const;
  Result<Node> find_dir(std::string_view path) const;
  Result<Node> find_parent(std::string_view path) const;
  uint64_t used_locked() const;
  bool may_grow(const MemNode& node, uint64_t to) const;
  void carry_out(InFlight& entry);
  static void apply(const DirChange& change);

  mutable std::mutex mutex_;
  Node root_;
  std::vector<DirChange> pending_;  // in order of change
  std::vector<InFlight> in_flight_;
  LastWrite last_write_;
  std::set<std::string, std::less<>> locks_;
  uint64_t bytes_limit_ = std::numeric_limits<uint64_t>::max();
};

}  // namespace cellar
