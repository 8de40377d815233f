// OldLogs: the logs of earlier sessions, with the number of tablets that still need each. A log is
// removed when the last of them has flushed its part, unless it may be needed elsewhere. On shard
// 0; other shards post to it.
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
  // What could not be removed is tried again.
  static constexpr int64_t kRetryUs = 10'000'000;

  OldLogs(const Runtime& runtime, LogStore& store)
      : runtime_(runtime),
        store_(store),
        retry_(
            runtime.timers, [](void* self) { static_cast<OldLogs*>(self)->try_again(); }, this) {}

  // A start found that a tablet needs the log. `removable`: no other node wrote it or needs it.
  void name(LogId log, bool removable) {
    Names& names = names_[log];
    ++names.tablets;
    names.removable = removable;
  }
  bool named(LogId log) const { return names_.contains(log); }
  // One tablet durably no longer needs these logs.
  void release(const std::vector<LogId>& logs);
  // Removes a log that no tablet needs, in the background.
  void remove(LogId log);
  size_t count() const { return names_.size(); }
  // Resumes when no removal is under way.
  Async<void> drain();
  // The same; what could not be removed stays until the next start.
  Async<void> close();

 private:
  struct Names {
    uint64_t tablets = 0;
    bool removable = false;
  };

  Async<void> remove_now(LogId log);
  void try_again();

  Runtime runtime_;
  LogStore& store_;
  std::map<LogId, Names> names_;
  uint64_t removing_ = 0;
  std::vector<LogId> kept_;  // could not be removed yet
  bool closed_ = false;
  Timer retry_;
  ConditionVariable idle_;
};

}  // namespace cellar::engine
