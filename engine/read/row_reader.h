// RowReader: reads of one row whose entries are all in memory, which is what most point reads are.
// One plain call, no allocation, and what a cursor keeps to go on later is not there: it never
// waits, and what is not simple it hands over to a cursor, which gives the rest of the row as of
// the same commit and the same time.
//
//   if (RowReader::may_read(spec)) {
//     RowStart start;
//     switch (reader.read(request, sink, start)) {
//       case done: break;                      // the answer is complete
//       case paused, handed_over: a cursor with ScanSetup::started = start gives the rest; where
//                                 the sink asked for a pause, not at once
//     }
//   }
//
// It decides what becomes of an entry as the cursor does (fate.h, cell_select.h), and looks into
// the same sources. Handed over is what lacks a block, what has more than kMostEntries entries or
// so many unwanted ones that seeking over them pays, what a row-range delete covers, and what is
// malformed: the cursor says so.
//
// One shard. Keeps what it found out about the schema's families from row to row; nothing of any
// source stays pinned between two calls.
#pragma once

#include <cstdint>
#include <string>

#include "engine/iter/iterator_arena.h"
#include "engine/iter/merging_iterator.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"
#include "engine/read/fate.h"
#include "engine/read/row_start.h"
#include "engine/read/source.h"
#include "engine/sstable/read_window.h"
#include "engine/sstable/row_probe.h"
#include "io/base/trusted_clock.h"

namespace cellar::engine {

class RowReader {
 public:
  // A large value counts as one entry for each of these bytes.
  static constexpr int64_t kMostEntries = 512;
  static constexpr size_t kValueBytesPerEntry = 1024;
  static constexpr uint32_t kMostUnwanted = 16;  // in sequence

  struct Request {
    const ReadSpec& spec;  // may_read()
    const ReadSources& sources;
    CommitStamp stamp;   // the visible one
    int64_t now_us = 0;  // trusted
  };
  enum class Outcome : uint8_t { done, paused, handed_over };

  // Both outlive it.
  RowReader(const TableSchema& schema, const TableRetention& retention)
      : retention_(retention), judge_(schema, retention, no_ranges_) {}

  // One row is wanted, and cells alone: no filter, nothing told beside them.
  static bool may_read(const ReadSpec& spec);

  // REQUIRES: the row is the tablet's. `start` is set unless done.
  Outcome read(const Request& request, CellSink& sink, RowStart& start);

 private:
  enum class Found : uint8_t { nothing, row, unknown };

  Found find(const Request& request);
  Found merge_with(EntryIterator& another);
  Outcome give(const Request& request, CellSink& sink, uint64_t& cells);
  void aim(Bytes row);

  const TableRetention& retention_;
  const RangeDeletes no_ranges_;
  FateJudge judge_;
  IteratorArena iterators_;
  MergingIterator merge_;
  EntryIterator* at_ = nullptr;  // the only source that has the row, or merge_
  RowProbe probe_;
  ReadWindow window_;
  std::string lower_;  // keys of the row are [lower_, upper_)
  std::string upper_;
};

}  // namespace cellar::engine
