#include "engine/sstable/parts_writer.h"

#include <algorithm>

#include "engine/sstable/top_level_index.h"
#include "io/base/check.h"

namespace cellar::engine {

PartsWriter::PartsWriter(size_t part_bytes, uint32_t filter_bits)
    : part_bytes_(part_bytes),
      filter_bits_(filter_bits),
      columns_(filter_bits > 0),
      columns_pay_(filter_bits > 0) {}

void PartsWriter::add_row(uint64_t row_hash, bool new_row) {
  part_begins_ = false;
  ++rows_in_part_;
  if (filter_bits_ > 0) rows_.add(row_hash);
  if (new_row && filter_bits_ > 0 && TopLevelIndex::is_sampled(row_hash)) sample_.add(row_hash);
}

bool PartsWriter::is_full() const {
  const size_t keys = rows_.rows() + (columns_.pay(rows_in_part_) ? columns_.keys().rows() : 0);
  return part_.bytes() + keys * filter_bits_ / 8 >= part_bytes_ ||
         part_.data_bytes() >= kMostDataBytes;
}

void PartsWriter::add_block(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                            const TimeBounds& bounds) {
  if (part_.blocks() == 0) {
    before_.assign(before);
    first_.assign(first);
  }
  part_.add(first.substr(0, common_prefix(before, first) + 1), stored_bytes, raw_bytes, bounds);
  bounds_.merge(bounds);
  most_raw_bytes_ = std::max(most_raw_bytes_, raw_bytes);
  if (is_full()) end_part();
}

void PartsWriter::end_part() {
  top_index_.add(before_, first_, static_cast<uint32_t>(part_.data_bytes()),
                 static_cast<uint32_t>(part_.blocks()), bounds_);
  std::string& out = parts_.emplace_back();
  columns_pay_ = columns_pay_ && columns_.pay(rows_in_part_);
  const std::string rows = filter_bits_ > 0 ? rows_.finish(filter_bits_) : std::string();
  const std::string columns = columns_pay_ ? columns_.keys().finish(filter_bits_) : std::string();
  part_.finish(out, rows, columns);
  bytes_ += out.size();
  rows_ = FilterBuilder();
  columns_ = ColumnKeys(columns_pay_);
  rows_in_part_ = 0;
  part_begins_ = true;
  bounds_ = TimeBounds();
}

void PartsWriter::finish() {
  if (part_.blocks() > 0) end_part();
}

std::string PartsWriter::top_index(const std::vector<uint32_t>& stored_sizes) {
  CHECK(stored_sizes.size() == parts_.size());
  std::string out;
  put_bytes(out, top_index_.finish());
  put_varint(out, most_raw_bytes_);
  put_bytes(out, filter_bits_ > 0 ? sample_.finish(filter_bits_) : std::string());
  for (const uint32_t size : stored_sizes) put_varint(out, size);
  return out;
}

}  // namespace cellar::engine
