#include "engine/export/export_check.h"

#include "engine/export/row_reader.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

Result<void> ExportCheck::file_head(Bytes head) {
  TRY(chain_, check_export_head(head));
  bytes_ = kExportHeadBytes;
  return {};
}

Result<FrameKind> ExportCheck::frame(Bytes head, Bytes payload) {
  TRY(const FrameHead decoded, decode_frame_head(head));
  const uint32_t checksum = crc32c(payload, crc32c(head.substr(4), chain_));
  if (checksum != decoded.checksum) {
    return fail(Errc::data_loss, "the frame at byte {} is damaged: its checksum does not fit",
                bytes_);
  }
  if (ended_) return fail(Errc::data_loss, "a frame at byte {} behind the end", bytes_);
  const auto kind = static_cast<FrameKind>(decoded.kind);
  if ((frames_ == 0) != (kind == FrameKind::description)) {
    return fail(Errc::data_loss, "the frame at byte {} is of kind {}: out of place", bytes_,
                decoded.kind);
  }
  ExportCounts counts = counts_;
  std::string last_key = last_key_;
  switch (kind) {
    case FrameKind::description:
      description_ = std::string(payload);
      break;
    case FrameKind::rows:
      TRY_VOID(rows(payload, counts, last_key));
      break;
    case FrameKind::end:
      TRY_VOID(end(payload));
      ended_ = true;
      break;
    default:
      return fail(Errc::data_loss, "the frame at byte {} is of kind {}, which does not exist",
                  bytes_, decoded.kind);
  }
  counts_ = counts;
  last_key_ = std::move(last_key);
  chain_ = checksum;
  bytes_ += head.size() + payload.size();
  ++frames_;
  return kind;
}

Result<void> ExportCheck::rows(Bytes payload, ExportCounts& counts, std::string& last_key) const {
  RowReader in(payload);
  Bytes last = last_key;
  while (in.next_row()) {
    if (in.key() <= last) {
      return fail(Errc::data_loss, "the frame at byte {}: a row is not greater than the one before",
                  bytes_);
    }
    last = in.key();
    ExportCell cell;
    while (in.next_cell(cell)) counts.value_bytes += cell.value.size();
  }
  if (!in.whole() || in.rows() == 0) {
    return fail(Errc::data_loss, "the frame at byte {} holds no whole rows", bytes_);
  }
  counts.rows += in.rows();
  counts.cells += in.block_cells();
  last_key = std::string(last);
  return {};
}

Result<void> ExportCheck::end(Bytes payload) const {
  Reader in(payload);
  ExportCounts counts;
  counts.rows = in.varint();
  counts.cells = in.varint();
  counts.value_bytes = in.varint();
  if (!in.ok() || !in.at_end() || counts != counts_) {
    return fail(Errc::data_loss, "the end tells of {} rows and {} cells, {} and {} are there",
                counts.rows, counts.cells, counts_.rows, counts_.cells);
  }
  return {};
}

}  // namespace cellar::engine
