#include "engine/export/export_encoder.h"

#include <utility>

#include "engine/export/row_reader.h"
#include "io/base/coding.h"

namespace cellar::engine {

std::string ExportEncoder::begin(Bytes description) {
  std::string out = encode_export_head();
  chain_ = load_le<uint32_t>(out.data() + 12);
  return out + encode_frame(FrameKind::description, description, chain_);
}

void ExportEncoder::resume(uint32_t chain, const ExportCounts& counts) {
  chain_ = chain;
  counts_ = counts;
}

void ExportEncoder::begin_row(Bytes key) {
  key_.assign(key);
  cells_.clear();
  row_cells_ = 0;
  row_value_bytes_ = 0;
}

void ExportEncoder::add(const ExportCell& cell) {
  uint8_t flags = 0;
  if (row_cells_ > 0 && cell.family == family_) {
    flags |= kSameFamily;
    if (cell.qualifier == qualifier_) flags |= kSameQualifier;
  }
  if (cell.expire_at_us) flags |= kHasExpiry;
  put_u8(cells_, flags);
  if ((flags & kSameFamily) == 0) put_bytes(cells_, cell.family);
  if ((flags & kSameQualifier) == 0) put_bytes(cells_, cell.qualifier);
  put_varint(cells_, zigzag(cell.timestamp_us));
  if (cell.expire_at_us) put_varint(cells_, zigzag(*cell.expire_at_us));
  put_bytes(cells_, cell.value);
  family_.assign(cell.family);
  qualifier_.assign(cell.qualifier);
  ++row_cells_;
  row_value_bytes_ += cell.value.size();
}

void ExportEncoder::end_row() {
  put_bytes(rows_, key_);
  put_varint(rows_, row_cells_);
  rows_.append(cells_);
  ++block_rows_;
  block_cells_ += row_cells_;
  ++counts_.rows;
  counts_.cells += row_cells_;
  counts_.value_bytes += row_value_bytes_;
}

std::string ExportEncoder::take_block() {
  if (block_rows_ == 0) return {};
  std::string payload;
  payload.reserve(rows_.size() + 20);
  put_varint(payload, std::exchange(block_rows_, 0));
  put_varint(payload, std::exchange(block_cells_, 0));
  payload.append(rows_);
  rows_.clear();
  return encode_frame(FrameKind::rows, payload, chain_);
}

std::string ExportEncoder::finish() {
  std::string out = take_block();
  std::string payload;
  put_varint(payload, counts_.rows);
  put_varint(payload, counts_.cells);
  put_varint(payload, counts_.value_bytes);
  return out + encode_frame(FrameKind::end, payload, chain_);
}

}  // namespace cellar::engine
