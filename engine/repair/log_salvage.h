// LogSalvage: reads what is intact of a log whose node does not run.
//
// LogReader (engine/store) stops at the first damage. This one continues at the next block boundary
// at which a whole record stands, and says which positions it passed over. What is no damage is
// treated as a start treats it: a place where records stop, beyond which no record has a durable
// mark, is the end of the log, and what stands behind it was never acknowledged and is not
// delivered. A file that is missing, too short or unreadable is always damage.
//
//   LogSalvage log(fs, id, segments);
//   CO_TRY_VOID(co_await log.survey(needed));   // reads the log once: where it ends, what is lost
//   CO_TRY_VOID(co_await log.deliver(sink));    // reads it again: its entries
//
// What the second reading cannot read is a gap too, although the first one could.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/store/file/record_file.h"
#include "engine/store/log_span.h"
#include "engine/store/log_store.h"

namespace cellar::engine {

// Positions [from, to) that were on disk once and cannot be read.
struct LogGap {
  uint64_t from = 0;
  uint64_t to = 0;
  std::string place;               // file and offset
  CommitStamp after = {};          // stamp of the last entry before it; 0: none
  CommitStamp before = kMaxStamp;  // of the first entry after it; kMaxStamp: none
};

class LogTaker {
 public:
  virtual ~LogTaker() = default;
  virtual void entry(const LogEntry& entry, LogPosition end) = 0;
  // Called every few megabytes of log: the sink may write.
  virtual Async<Result<void>> rest() = 0;
};

class LogSalvage {
 public:
  // Of a segment; the rest of one with more is not read, since each may take the device seconds.
  static constexpr uint64_t kMostBadBlocks = 64;

  LogSalvage(FileSystem& fs, LogId log, std::set<uint64_t> segments);

  // `from`: entries that end at or before it are not needed; `recorded_end`: the log was once read
  // up to here; both 0: unknown. An error is one of the device that no other file can avoid.
  Async<Result<void>> survey(uint64_t from, uint64_t recorded_end);
  Async<Result<void>> deliver(LogTaker& sink);

  const std::vector<LogGap>& gaps() const { return gaps_; }  // complete after deliver()
  // Whole records that stand behind the end: of writes that were never acknowledged.
  uint64_t torn_records() const { return torn_records_; }
  uint64_t entries() const { return entries_; }
  // Of whole records that are no entry: lost, and in no gap.
  uint64_t broken_entries() const { return broken_; }

 private:
  // Receives the log, in order.
  class Walker {
   public:
    virtual ~Walker() = default;
    virtual void record(const RecordView& record, uint64_t begin, uint64_t end) = 0;
    virtual void gap(uint64_t from, uint64_t to) = 0;
    virtual Async<Result<void>> rest() = 0;
  };
  class Surveyor;
  class Reader;
  struct BadBlocks {
    uint64_t blocks = 0;
    uint64_t until = 0;  // up to here the file is read block by block
  };

  Async<void> measure();
  Async<Result<void>> walk(Walker& walker);
  Async<Result<void>> walk_segment(uint64_t segment, Walker& walker);
  Async<Result<void>> walk_file(File& file, uint64_t segment, uint64_t bytes, Walker& walker);
  Async<void> read_on(RecordFileScan& scan, BadBlocks& bad);
  void begin_gap(uint64_t at);
  void cut_at(uint64_t at);
  void end_gap(uint64_t at, Walker& walker);
  std::string place_of(uint64_t position) const;

  FileSystem& fs_;
  const LogId log_;
  const std::set<uint64_t> segments_;
  uint64_t segment_bytes_ = 0;        // 0: no segment tells
  std::optional<uint64_t> gap_from_;  // of the current walk
  uint64_t cut_ = 0;  // after the last place at which a file is missing, short or unreadable

  uint64_t from_ = 0;
  uint64_t end_ = 0;  // of the acknowledged part
  std::vector<LogGap> gaps_;
  uint64_t torn_records_ = 0;
  uint64_t entries_ = 0;
  uint64_t broken_ = 0;
};

}  // namespace cellar::engine
