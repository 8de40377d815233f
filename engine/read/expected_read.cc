#include "engine/read/expected_read.h"

#include <algorithm>

#include "engine/model/key.h"

namespace cellar::engine {

void ExpectedRead::begin(const ReadSources& sources, Bytes row) {
  prefix_.clear();
  append_row_prefix(prefix_, row);
  const uint64_t hash = row_hash(prefix_);
  table_count_ = memtable_count_ = 0;
  for (const auto& source : sources) {
    if (const EntryTree* tree = source->tree(); tree != nullptr) {
      if (memtable_count_ < kMostMemtables) memtables_[memtable_count_++] = tree->expect(prefix_);
    } else if (const TableReader* table = source->table_of(prefix_); table != nullptr) {
      table_count_ = std::min(table_count_ + 1, kMostTables);
      tables_[table_count_ - 1] = ExpectedEntry(*table, prefix_, hash);
    }
  }
}

bool ExpectedRead::next() {
  bool more = false;
  for (size_t i = 0; i < memtable_count_; ++i) more |= EntryTree::expect_next(memtables_[i]);
  for (size_t i = 0; i < table_count_; ++i) more |= tables_[i].next();
  return more;
}

}  // namespace cellar::engine
