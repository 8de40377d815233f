// The manifest store: the authoritative state. It keeps one versioned entry per key (a tablet,
// a table, the node) and changes any number of them in one conditional edit: expected versions in,
// new versions out, atomic, durable when answered. A flush, a split, a move or the creation of a
// table with many tablets is one edit each.
//
// An entry is a small state plus items (a tablet's files, by number), so that an edit of a tablet
// with 10,000 files contains only the files that change. Values are opaque here; engine/manifest
// defines them. The interface maps onto etcd transactions (compare version, put, delete) as well as
// onto the local log of edits.
//
// One store serves the node and belongs to shard 0; other shards call it by mailbox (see
// engine/files/manifest_client.h).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

struct ManifestKey {
  enum class Kind : uint8_t { node = 0, table = 1, tablet = 2, clock = 3, audit = 4 };  // on disk
  Kind kind = Kind::node;
  uint64_t id = 0;
  auto operator<=>(const ManifestKey&) const = default;
};

inline constexpr uint64_t kAbsent = 0;  // the version of a key that does not exist

struct VersionEdit {
  ManifestKey key;
  uint64_t expected_version = kAbsent;
  bool remove = false;               // removes the key and all its items
  std::optional<std::string> state;  // absent: unchanged
  std::vector<std::pair<uint64_t, std::string>> put_items;
  std::vector<uint64_t> remove_items;
};

struct ManifestEntry {
  uint64_t version = kAbsent;
  std::string state;
  std::map<uint64_t, std::string> items;
};

inline constexpr size_t kMaxEditBytes = 64u << 20;

class ManifestStore {
 public:
  using FailureListener = std::function<void(const Error&)>;

  virtual ~ManifestStore() = default;
  // Whether load() returns every tablet whose tables are in the node's blob store, and whose
  // commits are in its log store. If not, what no tablet here names may be named by a tablet of
  // another node, and is not removed here. Constant.
  virtual bool has_all_tablets() const = 0;
  // Returns the whole present state.
  virtual Async<Result<std::map<ManifestKey, ManifestEntry>>> load() = 0;
  // Applies all of the edits or none. Returns the new version of each key, in order (kAbsent
  // for a removed one). ABORTED with the first key whose version differs. After a failed write
  // the store is poisoned: UNAVAILABLE, maybe applied.
  virtual Async<Result<std::vector<uint64_t>>> commit(std::vector<VersionEdit> edits) = 0;
  // `listener` is called once if the store is poisoned, before the failed edit is answered. It must
  // not suspend; may be empty.
  virtual void on_failure(FailureListener listener) = 0;
  virtual Async<Result<void>> close() = 0;
};

}  // namespace cellar::engine
