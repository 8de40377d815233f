// LogReader: reads a log of an earlier session and distinguishes a torn tail from damage.
//
// It follows the records through batches and segments. Where they stop, it scans everything after
// that place: if any whole record there has a durable mark beyond the place, the bytes at the place
// were on disk once: DATA_LOSS. Otherwise the place is the end of the log, or the point where a
// crash cut unacknowledged writes.
//
// Segments may be missing only at the front, and only below the position of a trim record.
#pragma once

#include <string>

#include "engine/store/file/record_file.h"
#include "engine/store/log/log_files.h"
#include "engine/store/log_store.h"

namespace cellar::engine {

// A single read of a log. `visitor` must outlive it.
class LogReader {
 public:
  LogReader(FileSystem& fs, LogId log, LogPosition from, LogVisitor& visitor);

  Async<Result<LogReadReport>> run(std::set<uint64_t> segments);

 private:
  // The place where the records stopped.
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
  std::string entry_;        // fragments of the current entry
  bool in_entry_ = false;    // the first fragment was seen, the last was not
  bool seen_first_ = false;  // any first fragment was seen
  // end of the last record that completed an entry or was not part of one
  uint64_t records_end_ = 0;
  uint64_t trimmed_ = 0;  // greatest position in a trim record
  std::optional<Stop> stop_;
  uint64_t used_end_ = 0;  // after stop_: end of the last nonzero byte
};

}  // namespace cellar::engine
