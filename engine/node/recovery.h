// Recovery: opens a node from its data on disk. Each step is durable before the next begins:
//
//   1. raise the session in the manifest, so that ids of this session are unused; then anchor the
//      trusted clock, from which no answer has been given yet
//   2. remove blobs and logs that no tablet names, and unsealed blobs, if an earlier session of the
//      node made them (NodeState::own_sessions), the former only if no tablet of another node can
//      name them (ManifestStore::has_all_tablets): a node that serves may need the others
//   3. on all shards concurrently: open the tablets, replay their spans of old logs, start new logs
//   4. one edit over all tablets (split if it is too large): the old spans that still have data,
//      closed where this start found the log's end, and the new log
//   5. remove logs that no tablet names, as in step 2, publish the table map, serve
//
// A crash at any point loses nothing: until step 4 the old entries are in force, and afterwards the
// old spans stay named until a flush has made them unnecessary. A restart may therefore be
// interrupted and repeated.
//
// A read-only start does the same without edits, removals and new logs: the clock stands, the
// tablets are opened, their spans replayed, and they serve reads.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <utility>
#include <vector>

#include "engine/node/node_parts.h"

namespace cellar::engine {

class Recovery {
 public:
  explicit Recovery(NodeParts& node) : node_(node) {}
  Async<Result<void>> run();
  // Call after a failed run(), when no part of the node is open: removes the logs it made, because
  // another attempt may need their space.
  Async<void> give_back();

 private:
  static constexpr size_t kEditBytes = kMaxEditBytes / 4;

  Async<Result<void>> run_and_write();
  Async<Result<void>> run_read_only();
  Async<Result<void>> raise_session();
  Async<Result<void>> resolve_token_window();
  Async<Result<void>> commit_node_state();
  void count_shared_blobs();
  // The session was of this node and has ended.
  bool is_finished(SessionEpoch session) const { return finished_.contains(session); }
  // If no tablet names the log.
  bool is_removable(LogId log) const {
    return node_.manifest.has_all_tablets() && is_finished(session_of(log));
  }
  Async<Result<void>> remove_orphan_blobs();
  Async<Result<void>> remove_litter_logs();
  Async<Result<void>> recover_shards();
  Async<Result<void>> name_spans();
  Async<Result<void>> commit_spans(TabletEdit edit);
  Async<Result<void>> remove_unnamed_logs();
  Async<Result<void>> serve();
  void report(int64_t elapsed_us);

  // Up to this many unnamed logs per shard are removed in the background; more are removed before
  // the node serves.
  static constexpr size_t kUnwaitedLogsPerShard = 1;

  NodeParts& node_;
  ManifestContents manifest_;
  std::vector<ShardRecovery> shards_;
  std::map<TabletId, uint64_t> versions_;              // after the edit of step 4
  absl::flat_hash_map<BlobId, uint64_t> named_blobs_;  // with the number of tablets
  bool logs_named_ = false;                            // the manifest may name the new logs
  SessionSet finished_;                                // earlier sessions of this node
  uint64_t orphans_ = 0;
  uint64_t kept_ = 0;  // blobs and logs that no tablet here names, and that are not removed
};

}  // namespace cellar::engine
