// PartsWriter: builds the parts of a table's index (index_part.h) and its top-level index
// (top_level_index.h) during writing.
//
// A part takes blocks until its index and filters reach `part_bytes` or its data reaches
// kMostDataBytes; a part is then two or three device pages. Its filter has all rows with an entry
// in its blocks, including those that started in the previous part.
//
// Memory: finished parts are kept until the data is written, 2 % of its size; the current part
// takes 8 bytes per row and per column.
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

  // The next entry starts a part: add its row even if it started in the previous part.
  bool begins() const { return part_begins_; }
  // A row of the current block; `new_row`: the table has no earlier entry of it.
  void add_row(uint64_t row_hash, bool new_row);
  void add_column(const ParsedKey& key) { columns_.add(key, rows_in_part_); }
  // Ends the current block; see TableIndexBuilder::add(). Takes some 50 us if it ends its part.
  void add_block(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                 const TimeBounds& bounds);
  // Call after the last block.
  void finish();

  // REQUIRES: finish() was called.
  const std::vector<std::string>& parts() const { return parts_; }
  // `stored_sizes`: sizes of the stored parts.
  std::string top_index(const std::vector<uint32_t>& stored_sizes);
  // Of the parts finished so far.
  size_t bytes() const { return bytes_; }

 private:
  bool is_full() const;
  void end_part();

  const size_t part_bytes_;
  const uint32_t filter_bits_;
  IndexPartBuilder part_;
  FilterBuilder rows_;
  ColumnKeys columns_;
  bool columns_pay_;  // in all parts so far
  uint64_t rows_in_part_ = 0;
  bool part_begins_ = true;
  TimeBounds bounds_;  // of the current part
  std::string before_;
  std::string first_;

  TableIndexBuilder top_index_;
  FilterBuilder sample_;
  uint32_t most_raw_bytes_ = 0;
  std::vector<std::string> parts_;
  size_t bytes_ = 0;
};

}  // namespace cellar::engine
