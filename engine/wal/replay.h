// Replay: what the logs of earlier sessions still hold for the tablets of one shard.
//
// Every tablet names, in its manifest entry, the spans of log where its commits lie that no table
// on disk holds. A log serves many tablets, so each log is read once, from the earliest position
// that anyone asks for, and every entry is handed to its tablet if it is the tablet's: the same
// epoch, inside the span. What is not asked for is passed over: a tablet that was dropped or lives
// on another shard, commits flushed since.
//
// Replaying twice gives what replaying once gives, because an entry's key carries its stamp.
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

// Takes the commits of one tablet, of one log in order, logs oldest first.
class ReplayTarget {
 public:
  virtual ~ReplayTarget() = default;
  virtual Result<void> replay(CommitStamp stamp, Bytes payload) = 0;
};

struct LogReplayed {
  LogPosition end;  // nothing of the log after this counts: it is torn
  uint64_t torn_tail_bytes = 0;
  std::string torn_place;  // LogReadReport::torn_place
};

struct ReplayReport {
  uint64_t commits = 0;  // handed to tablets
  uint64_t bytes = 0;    // of their payloads
  std::map<LogId, LogReplayed> logs;
};

class ReplayPlan {
 public:
  // `target` must outlive the replay. Spans of one tablet in one log do not overlap.
  void add(TabletId tablet, Epoch epoch, const std::vector<LogSpan>& spans, ReplayTarget& target);
  bool empty() const { return logs_.empty(); }

  // Reads the logs, oldest first. DATA_LOSS when a log is missing or damaged below its durable
  // mark, ends before a span's recorded end, or holds an entry that is no commit: the sentence says
  // where.
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
