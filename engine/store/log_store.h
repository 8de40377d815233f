// The log store: where commits become durable. A log belongs to one shard and one session of the
// process; every entry names its tablet and the ownership epoch under which it was written, so that
// one log serves many tablets and a tablet may move. The local body (local_log_store.h) writes
// segments through io/disk; a replicated one would guard every append with the session epoch, which
// is why fence() exists.
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

// A place in one log: rises with every append, 0 is the beginning. Opaque otherwise.
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

// One append, owned by whoever waits; stays put until `done` has run. done runs from the loop,
// never inside append(), in append order over the whole log whatever the level: sync once the entry
// and all before it are on disk; periodic and memory as soon as everything before is done too.
struct LogAppend {
  Durability level = Durability::sync;
  LogPosition end;  // set by append(): everything of this entry lies before it
  const Error* failure =
      nullptr;  // set before done when the log is poisoned; valid while the log lives
  void (*done)(LogAppend& append) = nullptr;
  void* context = nullptr;
  LogAppend* next = nullptr;  // of the log
};

// An open log. Used on its shard only.
//
// Invariants: done is called in append order; no done without failure before its level is reached;
// after the first failed write every append, past and future, that is not done yet fails (the log
// is poisoned, nothing is retried).
class Log {
 public:
  virtual ~Log() = default;
  virtual LogId id() const = 0;
  // Copies the entry into the open batch. Fails at once, and done will not run, when the log is
  // poisoned or sealed (UNAVAILABLE) or more than its bound of bytes waits for the disk
  // (RESOURCE_EXHAUSTED, with a retry hint).
  virtual Result<void> append(const LogEntry& entry, LogAppend& append) = 0;
  // The end of the last appended entry, and of what is on disk.
  virtual LogPosition end() const = 0;
  virtual LogPosition durable_end() const = 0;
  // Resumes when everything appended so far is on disk, whatever its level.
  virtual Async<Result<void>> sync() = 0;
  // Nothing before `position` will be read again: its segments may go. Monotonic; returns at once.
  virtual void trim(LogPosition position) = 0;
  // Makes the records before `position` leave the disk; no reader needs them any more. Ends the
  // segment in use where necessary, and makes trims remove segments instead of keeping them.
  // Resumes with the position to which the log has to be trimmed for all of it to go; later, where
  // there is no space for another segment. CANCELLED after give_up_erasing(); UNAVAILABLE as
  // append().
  virtual Async<Result<LogPosition>> erase(LogPosition position) = 0;
  // For good.
  virtual void give_up_erasing() = 0;
  // REQUIRES: no erase() under way. Refuses further appends, makes everything durable with a
  // closing mark, answers the end.
  virtual Async<Result<LogPosition>> seal() = 0;
  // Set once the log is poisoned: why.
  virtual const Error* failure() const = 0;
  virtual uint64_t needed_bytes() const = 0;   // of segments not yet trimmed
  virtual uint64_t bytes_on_disk() const = 0;  // and of those kept for reuse or being removed
};

// Takes a log's entries in order while it is read.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  // An error stops the reading and is answered by read(). `end` is the position just after the
  // entry.
  virtual Result<void> entry(const LogEntry& entry, LogPosition end) = 0;
};

struct LogReadReport {
  LogPosition end;  // of the last entry seen
  uint64_t entries = 0;
  uint64_t bytes = 0;
  // After the last whole record, discarded: never acknowledged, or the last write of all is damaged
  // and no mark behind it tells.
  uint64_t torn_tail_bytes = 0;
  std::string torn_place;  // the file and the offset in it; empty: there are none
};

class LogStore {
 public:
  virtual ~LogStore() = default;
  // A new, empty log. ALREADY_EXISTS when the id was ever used.
  virtual Async<Result<std::unique_ptr<Log>>> create(LogId id) = 0;
  virtual Async<Result<std::vector<LogId>>> list() = 0;  // sorted
  // Visits the entries of a log of an earlier session from `from` on. A damaged or missing record
  // below the log's durable mark is DATA_LOSS naming segment and offset; after it, a torn tail,
  // discarded and counted.
  virtual Async<Result<LogReadReport>> read(LogId id, LogPosition from, LogVisitor& visitor) = 0;
  // No append under this id can succeed any more. The local body has nothing to do: the directory
  // lock fences.
  virtual Async<Result<void>> fence(LogId id) = 0;
  virtual Async<Result<void>> remove(LogId id) = 0;
  // Ends removals that a crash cut short, which nobody asks for again; answers how many. For a
  // start, before others use the disk. REQUIRES: no removal is under way.
  virtual Async<Result<size_t>> remove_litter() = 0;
};

}  // namespace cellar::engine
