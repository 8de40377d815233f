// The log store makes commits durable. A log belongs to one shard and one session of the process.
// Every entry names its tablet and the ownership epoch under which it was written, so that one log
// serves many tablets and tablets can move. The local implementation (local_log_store.h) writes
// segments through io/disk; a replicated one would guard appends with the session epoch, which is
// the purpose of fence().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// A place in one log: increases with every append; 0 is the beginning. Otherwise opaque.
using LogPosition = Strong<struct LogPositionTag, uint64_t>;
inline constexpr LogPosition kLogBegin{0};
inline constexpr LogPosition kLogEnd{UINT64_MAX};

struct LogEntry {
  TabletId tablet;
  Epoch epoch;
  CommitStamp stamp;
  Bytes payload;  // see engine/model/mutation.h
};

inline constexpr size_t kMaxLogEntryBytes = 128u << 20;

// One append, owned by the caller; must stay in place until `done` has run. done runs from the
// loop, never inside append(), in append order over the whole log whatever the level: sync when the
// entry and all before it are on disk; periodic and memory as soon as all earlier ones are done.
struct LogAppend {
  Durability level = Durability::sync;
  LogPosition end;  // set by append(): the end of this entry
  const Error* failure =
      nullptr;  // set before done if the log is poisoned; valid while the log exists
  void (*done)(LogAppend& append) = nullptr;
  void* context = nullptr;
  LogAppend* next = nullptr;  // used by the log
};

// An open log. Used on its shard only.
//
// Invariants: done is called in append order; never without failure before its level is reached;
// after the first failed write every pending and future append fails (the log is poisoned, nothing
// is retried).
class Log {
 public:
  virtual ~Log() = default;
  virtual LogId id() const = 0;
  // Copies the entry into the open batch. Fails at once, without a call of done, if the log is
  // poisoned or sealed (UNAVAILABLE) or more bytes than its bound wait for the disk
  // (RESOURCE_EXHAUSTED with a retry hint).
  virtual Result<void> append(const LogEntry& entry, LogAppend& append) = 0;
  // The end of the last appended entry, and of what is on disk.
  virtual LogPosition end() const = 0;
  virtual LogPosition durable_end() const = 0;
  // Resumes when everything appended so far is on disk, whatever its level.
  virtual Async<Result<void>> sync() = 0;
  // Positions before `position` are not needed any more: their segments may be removed. Monotonic;
  // returns at once.
  virtual void trim(LogPosition position) = 0;
  // Removes the records before `position` from the disk; no reader may need them. Ends the segment
  // in use if necessary, and makes trims remove segments instead of keeping them. Returns the
  // position to which the log must be trimmed for this; waits if there is no space for another
  // segment. CANCELLED after give_up_erasing(); UNAVAILABLE as in append().
  virtual Async<Result<LogPosition>> erase(LogPosition position) = 0;
  // Permanent.
  virtual void give_up_erasing() = 0;
  // Permanent: an append that was accepted, and for which there is no space, poisons the log
  // instead of waiting for space. The log will be sealed soon.
  virtual void give_up_waiting_for_space() = 0;
  // Refuses further appends, makes everything durable with a closing mark and returns the end.
  // REQUIRES: no erase() in progress.
  virtual Async<Result<LogPosition>> seal() = 0;
  // The cause, if the log is poisoned; else null.
  virtual const Error* failure() const = 0;
  virtual uint64_t needed_bytes() const = 0;   // segments not yet trimmed
  virtual uint64_t bytes_on_disk() const = 0;  // also those kept for reuse or being removed
};

// Receives a log's entries in order.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  // An error stops the read, which returns it. `end` is the position after the entry.
  virtual Result<void> entry(const LogEntry& entry, LogPosition end) = 0;
};

struct LogReadReport {
  LogPosition end;  // of the last entry seen
  uint64_t entries = 0;
  uint64_t bytes = 0;
  // Discarded bytes after the last whole record: unacknowledged, or a damaged last write without a
  // later mark.
  uint64_t torn_tail_bytes = 0;
  std::string torn_place;  // file and offset; empty: none
};

class LogStore {
 public:
  virtual ~LogStore() = default;
  // Creates an empty log. ALREADY_EXISTS if the id was ever used.
  virtual Async<Result<std::unique_ptr<Log>>> create(LogId id) = 0;
  virtual Async<Result<std::vector<LogId>>> list() = 0;  // sorted
  // Visits the entries of a log of an earlier session, starting at `from`. A damaged or missing
  // record below the log's durable mark is DATA_LOSS with segment and offset; above it, it is a
  // torn tail, which is discarded and counted.
  virtual Async<Result<LogReadReport>> read(LogId id, LogPosition from, LogVisitor& visitor) = 0;
  // After this no append under the id can succeed. In the local implementation the directory lock
  // is the fence.
  virtual Async<Result<void>> fence(LogId id) = 0;
  virtual Async<Result<void>> remove(LogId id) = 0;
  // Completes removals interrupted by a crash and returns their number. For a start, before other
  // work uses the disk. REQUIRES: no removal in progress.
  virtual Async<Result<size_t>> remove_litter() = 0;
};

}  // namespace cellar::engine
