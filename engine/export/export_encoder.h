// Encodes rows as an export file. Deterministic: the same rows give the same bytes, also if writing
// was interrupted at the end of a block and resumed there.
//
//   ExportEncoder out;
//   write(out.begin(description));
//   for each row: out.begin_row(key); out.add(cell)...; out.end_row();
//                 if (out.block_full()) write(out.take_block());
//   write(out.finish());
#pragma once

#include <string>

#include "engine/export/export_format.h"

namespace cellar::engine {

class ExportEncoder {
 public:
  // File head and description, which is JSON text, opaque here.
  std::string begin(Bytes description);
  // Continues after existing frames, with the state of ExportCheck.
  void resume(uint32_t chain, const ExportCounts& counts);

  // Starts a row; an incomplete previous row is discarded.
  void begin_row(Bytes key);
  void add(const ExportCell& cell);
  void end_row();

  bool block_full() const { return rows_.size() >= kExportBlockBytes; }
  // The open block as a frame; empty if it has no row.
  std::string take_block();
  // The remaining rows and the end.
  std::string finish();
  const ExportCounts& counts() const { return counts_; }  // of all completed rows

 private:
  std::string rows_;   // of the open block
  std::string cells_;  // of the open row
  std::string key_;
  uint64_t row_cells_ = 0;
  uint64_t row_value_bytes_ = 0;
  uint64_t block_rows_ = 0;
  uint64_t block_cells_ = 0;
  std::string family_;  // of the previous cell in this row
  std::string qualifier_;
  ExportCounts counts_;
  uint32_t chain_ = 0;
};

}  // namespace cellar::engine
