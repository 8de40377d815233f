// LogSpan: a part of one log, which is how a tablet remembers where its commits lie that are in no
// table on disk yet.
#pragma once

#include "engine/store/log_store.h"

namespace cellar::engine {

// The entries of `log` that end after `from` and not after `to`. A log that is still written has no
// end yet.
struct LogSpan {
  LogId log;
  LogPosition from = kLogBegin;
  LogPosition to = kLogEnd;

  bool contains(LogPosition entry_end) const { return entry_end > from && entry_end <= to; }
  bool operator==(const LogSpan&) const = default;
};

}  // namespace cellar::engine
