// ExpectedEntry: a search for a row in a table that follows soon. It loads what the search will
// look at into the processor's cache, step by step: each step needs what the one before it has
// begun to load, so the steps of several searches should alternate.
//
//   ExpectedEntry a(table, prefix, row_hash(prefix)), b(...);
//   while (a.next() | b.next()) {
//   }
//
// Changes nothing, and no result depends on it. It ends early where the search would have to load a
// block, and does not search the parts of an index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/sstable/table_reader.h"
#include "io/base/bytes.h"

namespace cellar::engine {

// One shard.
class ExpectedEntry {
 public:
  ExpectedEntry() = default;
  // The table and the prefix must stay valid until the last step; `hash`: row_hash() of the prefix.
  ExpectedEntry(const TableReader& table, Bytes row_prefix, uint64_t hash);

  // False: that was the last step.
  bool next();

 private:
  enum class At : uint8_t { filter, index, slot, block, end };

  const TableReader* table_ = nullptr;
  Bytes row_prefix_;
  uint64_t hash_ = 0;
  size_t block_no_ = 0;
  At at_ = At::end;
};

}  // namespace cellar::engine
