// RowReader: reads of one row whose entries are all in memory, the common point read. One plain
// call without allocation or resumable state: it never waits, and hands everything that is not
// simple over to a cursor, which returns the rest of the row as of the same commit and time.
//
//   if (RowReader::may_read(spec)) {
//     RowStart start;
//     switch (reader.read(request, sink, start)) {
//       case done: break;                      // the result is complete
//       case paused, handed_over: a cursor with ScanSetup::started = start returns the rest; if the
//                                 sink asked for a pause, not at once
//     }
//   }
//
// The newest versions of named columns are read by NewestRead (newest_read.h), which leaves older
// sources closed; those of all columns too, if the sources have few (row_columns.h).
//
// It judges entries like the cursor (cell_judge.h, cell_select.h) and reads the same sources.
// Handed over are rows that lack a block, have more than kMostEntries entries or so many unwanted
// ones that seeking pays, are covered by a row-range delete, or are malformed (the cursor reports
// that).
//
// One shard. Keeps data about the schema's families from row to row; no source stays pinned between
// two calls.
#pragma once

#include <cstdint>
#include <string>

#include "engine/iter/iterator_arena.h"
#include "engine/iter/merging_iterator.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"
#include "engine/read/cell_judge.h"
#include "engine/read/newest_read.h"
#include "engine/read/row_columns.h"
#include "engine/read/row_start.h"
#include "engine/read/source.h"
#include "engine/read/stop_record.h"
#include "engine/sstable/wanted_entries.h"
#include "io/base/trusted_clock.h"

namespace cellar::engine {

class RowReader {
 public:
  // A row with more entries is handed over; a large value counts as one per kValueBytesPerEntry.
  static constexpr int64_t kMostEntries = 512;
  static constexpr size_t kValueBytesPerEntry = 1024;
  static constexpr uint32_t kMostUnwanted = 16;  // in sequence

  struct Request {
    const ReadSpec& spec;  // must satisfy may_read()
    const ReadSources& sources;
    CommitStamp stamp;   // the visible one
    int64_t now_us = 0;  // trusted time
    // Lowered to the last time at which the cells passed on are all alive, if none is committed.
    // Null: not wanted. REQUIRES: no family has an earlier era.
    int64_t* alive_until_us = nullptr;
    StopRecord* stops = nullptr;  // of the tablet; null: reads of every column try to stop
  };
  enum class Outcome : uint8_t { done, paused, handed_over };

  // Both must outlive it.
  RowReader(const TableSchema& schema, const TableRetention& retention)
      : retention_(retention), judge_(schema, retention, no_ranges_), newest_(schema, retention) {}

  // One row, cells only: no notes, and no filter but one that names columns (wanted_columns()).
  static bool may_read(const ReadSpec& spec);

  // REQUIRES: the row is in the tablet. `start` is set unless done.
  Outcome read(const Request& request, CellSink& sink, RowStart& start);

 private:
  enum class Found : uint8_t { nothing, row, unknown };

  NewestRead::Outcome find_newest(const Request& request, const RowStart& start);
  Outcome give_newest(const Request& request, CellSink& sink, uint64_t& cells);
  Found find(const Request& request);
  Outcome give(const Request& request, CellSink& sink, uint64_t& cells);

  const TableRetention& retention_;
  const RangeDeletes no_ranges_;
  CellJudge judge_;
  IteratorArena iterators_;
  MergingIterator merge_;
  EntryIterator* at_ = nullptr;  // the only source with the row, or merge_
  RowProbe probe_;
  ReadWindow window_;
  NewestRead newest_;
  RowColumns columns_;
  std::string lower_;  // keys of the row are [lower_, upper_)
  std::string upper_;
};

}  // namespace cellar::engine
