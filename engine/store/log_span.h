// LogSpan: a part of one log. A tablet records in spans where its commits are that no table on disk
// has.
#pragma once

#include "engine/store/log_store.h"

namespace cellar::engine {

// The entries of `log` that end after `from` and at or before `to`. The span of a log still being
// written is open.
struct LogSpan {
  LogId log;
  LogPosition from = kLogBegin;
  LogPosition to = kLogEnd;

  bool contains(LogPosition entry_end) const { return entry_end > from && entry_end <= to; }
  bool operator==(const LogSpan&) const = default;
};

}  // namespace cellar::engine
