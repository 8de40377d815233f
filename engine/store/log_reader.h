// LogReader: reads one log of an earlier session and tells a torn tail from damage.
//
// It follows the records from batch to batch and from segment to segment. Where they stop, it looks
// at everything behind: if any whole record there has a durable mark beyond the place, the bytes at
// the place were on disk once: DATA_LOSS. If none has, the place is where
// the log ended, or where a crash cut writes that nobody was told about.
//
// Segments may be missing only from the front, and only below a position that a trim record names.
#pragma once

#include <string>

#include "engine/store/log_files.h"
#include "engine/store/log_store.h"
#include "engine/store/record_file.h"

namespace cellar::engine {

// One reading. `visitor` must outlive it.
class LogReader {
 public:
  LogReader(FileSystem& fs, LogId log, LogPosition from, LogVisitor& visitor);

  Async<Result<LogReadReport>> run(std::set<uint64_t> segments);

 private:
  // Where the records stopped.
  struct Stop {
    uint64_t segment = 0;
    uint64_t position = 0;
    uint64_t offset = 0;
    bool zeros = false;
  };

  Async<Result<void>> read_segments(uint64_t first, uint64_t last);
  Async<Result<void>> read_segment(uint64_t segment);
  Async<Result<void>> walk(RecordFileScan& scan, uint64_t segment);
  Async<Result<void>> look_behind(RecordFileScan& scan);
  Result<void> take(const RecordView& record, const RecordFileScan& scan);
  Result<void> take_fragment(const RecordView& record, uint64_t end, const std::string& path);
  Result<void> deliver(Bytes bytes, uint64_t end);
  Result<void> check_front(uint64_t first_wanted, uint64_t first_found) const;
  void finish();

  FileSystem& fs_;
  const LogId log_;
  const uint64_t from_;
  LogVisitor& visitor_;
  uint64_t segment_bytes_ = 0;

  LogReadReport report_;
  std::string entry_;         // fragments of the entry that is being put together
  bool in_entry_ = false;     // a first fragment was seen, the last was not
  bool seen_first_ = false;   // any first fragment was seen
  uint64_t records_end_ = 0;  // of the last record that ended an entry, or was none
  uint64_t trimmed_ = 0;      // greatest position in a trim record
  std::optional<Stop> stop_;
  uint64_t used_end_ = 0;  // behind stop_: position after the last byte that is not zero
};

}  // namespace cellar::engine
