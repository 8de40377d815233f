// The manifest store: the authoritative state. It keeps one versioned entry per key (a tablet,
// a table, the node) and changes them by conditional edits (manifest_edit.h): expected versions in,
// new versions out, durable when answered.
//
// An entry is a small state plus items (a tablet's files, by number), so that an edit of a tablet
// with 10,000 files contains only the files that change. Values are opaque here; engine/manifest
// defines them.
//
// One store serves the node and belongs to shard 0; other shards call it by mailbox (see
// engine/files/manifest_client.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/store/manifest_edit.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

struct ManifestEntry {
  uint64_t version = kAbsent;
  std::string state;
  std::map<uint64_t, std::string> items;
};

inline constexpr size_t kMaxEditBytes = 64u << 20;

class ManifestStore {
 public:
  using FailureListener = std::function<void(const Error&)>;
  // The new version of each changed entry, in the edit's order; kAbsent for a removed one.
  using Versions = std::vector<uint64_t>;

  virtual ~ManifestStore() = default;
  // Whether load() returns every tablet whose tables are in the node's blob store, and whose
  // commits are in its log store. If not, what no tablet here names may be named by a tablet of
  // another node, and is not removed here. Constant.
  virtual bool has_all_tablets() const = 0;
  // Whether an edit of unknown outcome (UNAVAILABLE, maybe applied) may be committed again, to
  // learn the outcome: the edit with the same id is applied once in all, and the answer is that of
  // the edit, whichever attempt applied it. If not, the store is poisoned after such an answer.
  // Constant.
  virtual bool reads_outcomes_back() const = 0;
  // Returns the whole present state.
  virtual Async<Result<std::map<ManifestKey, ManifestEntry>>> load() = 0;
  // INVALID_ARGUMENT for a change that the kind does not allow, two changes of one key, or more
  // than kMaxEditBytes; ABORTED with the first key whose version differs: not applied. UNAVAILABLE,
  // not applied: the store is closed, or poisoned. UNAVAILABLE, maybe applied: the outcome is
  // unknown; see reads_outcomes_back().
  // Of a TabletEdit with several changes, an error is that of the first change that was not made;
  // others may be.
  virtual Async<Result<Versions>> commit(TabletEdit edit) = 0;
  virtual Async<Result<Versions>> commit(ReshapeEdit edit) = 0;
  virtual Async<Result<Versions>> commit(CatalogEdit edit) = 0;
  // `listener` is called once if the store is poisoned, before the failed edit is answered. It must
  // not suspend; may be empty.
  virtual void on_failure(FailureListener listener) = 0;
  virtual Async<Result<void>> close() = 0;
};

}  // namespace cellar::engine
