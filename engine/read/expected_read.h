// ExpectedRead: a read of one row that follows soon. It loads what the read will look at in the
// sources into the processor's cache, step by step (sstable/expected_entry.h), so that the waits of
// several reads for memory overlap.
//
//   for (size_t i = 0; i < n; ++i) reads[i].begin(sources, rows[i]);
//   for (bool more = true; more;) {
//     more = false;
//     for (size_t i = 0; i < n; ++i) more |= reads[i].next();
//   }
//
// Changes nothing, and no result depends on it.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "engine/memtable/entry_tree.h"
#include "engine/read/source.h"
#include "engine/sstable/expected_entry.h"

namespace cellar::engine {

// One shard. Keeps the memory of its key.
class ExpectedRead {
 public:
  // Of the tables that may have the row by their keys: the newest ones, and the oldest, which has
  // most rows. Of the others only the filter is loaded.
  static constexpr size_t kMostTables = 8;
  static constexpr size_t kMostMemtables = 2;

  ExpectedRead() = default;
  ExpectedRead(const ExpectedRead&) = delete;
  ExpectedRead& operator=(const ExpectedRead&) = delete;

  // The sources must stay valid until the last step.
  void begin(const ReadSources& sources, Bytes row);
  // False: that was the last step.
  bool next();

 private:
  std::string prefix_;  // of the row's keys; tables_ view it
  std::array<ExpectedEntry, kMostTables> tables_;
  size_t table_count_ = 0;
  std::array<EntryTree::Expected, kMostMemtables> memtables_;
  size_t memtable_count_ = 0;
};

}  // namespace cellar::engine
