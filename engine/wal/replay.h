// Replay: recovers from the logs of earlier sessions the commits of one shard's tablets.
//
// The manifest entry of a tablet names the spans of log with its commits that no table on disk has.
// A log serves many tablets, so each log is read once, from the earliest position needed. An entry
// is passed to its tablet if it matches: same epoch, inside the span. Other entries are skipped:
// those of a dropped tablet or of one on another shard, and commits already flushed.
//
// Replay is idempotent, because an entry's key includes its stamp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "engine/store/log_span.h"
#include "engine/store/log_store.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Receives the commits of one tablet, in order within a log, oldest log first.
class ReplayTarget {
 public:
  virtual ~ReplayTarget() = default;
  virtual Result<void> replay(CommitStamp stamp, Bytes payload) = 0;
};

struct LogReplayed {
  LogPosition end;  // the rest of the log is torn and ignored
  uint64_t torn_tail_bytes = 0;
  std::string torn_place;  // LogReadReport::torn_place
};

struct ReplayReport {
  uint64_t commits = 0;  // passed to tablets
  uint64_t bytes = 0;    // size of their payloads
  std::map<LogId, LogReplayed> logs;
};

class ReplayPlan {
 public:
  // `target` must outlive the replay. Spans of one tablet in one log must not overlap.
  void add(TabletId tablet, Epoch epoch, const std::vector<LogSpan>& spans, ReplayTarget& target);
  bool empty() const { return logs_.empty(); }

  // Reads the logs, oldest first. DATA_LOSS, with the place, if a log is missing or damaged below
  // its durable mark, ends before a span's recorded end, or has an entry that is not a commit.
  static Async<Result<ReplayReport>> run(ReplayPlan plan, LogStore& store);

 private:
  struct Want {
    TabletId tablet;
    Epoch epoch;
    LogSpan span;
    ReplayTarget* target = nullptr;
  };
  class Visitor;

  std::map<LogId, std::vector<Want>> logs_;
};

}  // namespace cellar::engine
