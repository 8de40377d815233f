// Recovery: from what is on disk to a node that serves. Steps, each durable before the next begins:
//
//   1. raise the session in the manifest: from here on no id of ours was ever used before; then
//      anchor the trusted clock, which nothing has been answered by yet
//   2. remove blobs and logs that no tablet names, and what was never sealed
//   3. on every shard at once: open its tablets, replay their spans of old logs, begin a new log
//   4. one edit over all tablets (cut where it grows too big): the old spans that still hold
//      something, closed where this start found the log's end, and the new log
//   5. remove logs that no tablet names, publish the table map, serve
//
// A crash anywhere in between loses nothing, because until 4 the old entries stand, and after it
// the old spans stay named until a flush has made them superfluous. So restarts may be restarted.
//
// A read-only start takes the same way without the edits, the removals and the new logs: the clock
// stands, the tablets are opened and their spans replayed, and they serve reads.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <utility>
#include <vector>

#include "engine/node/node_impl.h"

namespace cellar::engine {

class Recovery {
 public:
  explicit Recovery(NodeImpl& node) : node_(node) {}
  Async<Result<void>> run();
  // After a run() that failed, when nothing of the node is open any more: the logs that it made go,
  // since a start that is tried again may need their space.
  Async<void> give_back();

 private:
  static constexpr size_t kEditBytes = kMaxEditBytes / 4;

  Async<Result<void>> run_and_write();
  Async<Result<void>> run_read_only();
  Async<Result<void>> raise_session();
  Async<Result<void>> settle_token_window();
  Async<Result<void>> commit_node_state();
  void count_shared_blobs();
  Async<Result<void>> remove_orphan_blobs();
  Async<Result<void>> remove_litter_logs();
  Async<Result<void>> recover_shards();
  Async<Result<void>> name_spans();
  Async<Result<void>> commit_spans(std::vector<SubjectEdit> edits);
  Async<Result<void>> remove_unnamed_logs();
  Async<Result<void>> serve();
  void report(int64_t elapsed_us);

  // A start leaves the removal of as many unnamed logs to the background; more of them it awaits
  // before it serves.
  static constexpr size_t kUnwaitedLogsPerShard = 1;

  NodeImpl& node_;
  ManifestContents manifest_;
  std::vector<ShardRecovery> shards_;
  std::map<TabletId, uint64_t> versions_;              // after the edit of step 4
  absl::flat_hash_map<BlobId, uint64_t> named_blobs_;  // by how many tablets
  bool logs_named_ = false;                            // the manifest may name the new logs
  uint64_t orphans_ = 0;
};

}  // namespace cellar::engine
