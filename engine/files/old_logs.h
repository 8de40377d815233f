// OldLogs: the logs of earlier sessions, and how many tablets still name each. A log goes when the
// last of them has flushed what it had there. Lives on shard 0; other shards post to it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/model/types.h"
#include "engine/store/log_store.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class OldLogs {
 public:
  OldLogs(const Runtime& runtime, LogStore& store) : runtime_(runtime), store_(store) {}

  // A start found that a tablet names the log.
  void name(LogId log) { ++names_[log]; }
  bool named(LogId log) const { return names_.contains(log); }
  // One tablet names each of these no more, durably.
  void release(const std::vector<LogId>& logs);
  // Removes, in the background, a log that nobody names.
  void remove(LogId log);
  size_t count() const { return names_.size(); }
  Async<void> drain();

 private:
  Async<void> remove_now(LogId log);

  Runtime runtime_;
  LogStore& store_;
  std::map<LogId, uint64_t> names_;
  uint64_t removing_ = 0;
  ConditionVariable idle_;
};

}  // namespace cellar::engine
