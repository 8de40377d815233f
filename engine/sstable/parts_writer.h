// PartsWriter: the parts of a table's index (index_part.h) and its outline (table_outline.h), made
// while the table is written.
//
// A part takes blocks until its index and filters are `part_bytes` long or its data is
// kMostDataBytes; so a part that is read from the device is two or three of its pages. Its filter
// knows the rows of which an entry is in its blocks, also those that began in the part before.
//
// Memory: what is finished stays until the data is written, 2 % of that; of the part at work, 8
// bytes a row and a column.
#pragma once

#include <string>
#include <vector>

#include "engine/sstable/column_keys.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/index_part.h"
#include "engine/sstable/table_index.h"

namespace cellar::engine {

class PartsWriter {
 public:
  static constexpr size_t kPartBytes = 8 * 1024;
  static constexpr uint64_t kMostDataBytes = 64u << 20;

  PartsWriter(size_t part_bytes, uint32_t filter_bits);

  // The next entry begins a part: its row is to be added even where it began in the part before.
  bool begins() const { return part_begins_; }
  // A row of the block at work; `new_row`: the table has no earlier entry of it.
  void add_row(uint64_t row_hash, bool new_row);
  void add_column(const ParsedKey& key) { columns_.add(key, rows_in_part_); }
  // The block at work is finished; as TableIndexBuilder::add(). Some 50 us where it ends its part.
  void add_block(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                 const TimeBounds& bounds);
  // Behind the last block.
  void finish();

  // REQUIRES: finish() was called.
  const std::vector<std::string>& parts() const { return parts_; }
  // Given the sizes of the parts as they were stored.
  std::string outline(const std::vector<uint32_t>& stored_sizes);
  // So far, of what is finished.
  size_t bytes() const { return bytes_; }

 private:
  bool is_full() const;
  void end_part();

  const size_t part_bytes_;
  const uint32_t filter_bits_;
  IndexPartBuilder part_;
  FilterBuilder rows_;
  ColumnKeys columns_;
  bool columns_pay_;  // in all parts up to now
  uint64_t rows_in_part_ = 0;
  bool part_begins_ = true;
  TimeBounds bounds_;  // of the part
  std::string before_;
  std::string first_;

  TableIndexBuilder outline_;
  FilterBuilder sample_;
  uint32_t most_raw_bytes_ = 0;
  std::vector<std::string> parts_;
  size_t bytes_ = 0;
};

}  // namespace cellar::engine
