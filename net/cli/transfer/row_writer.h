// Rows to the bytes of an exported file, in one of its forms.
#pragma once

#include <memory>
#include <string>

#include "engine/export/export_format.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// A row that was begun and not ended leaves nothing behind when the next one begins.
class RowWriter {
 public:
  // What take() gathers before it hands out.
  static constexpr size_t kPieceBytes = engine::kExportBlockBytes;

  virtual ~RowWriter() = default;
  virtual std::string begin() = 0;  // what the file begins with
  virtual void begin_row(Bytes key) = 0;
  virtual void add(const client::Cell& cell) = 0;
  virtual void end_row() = 0;
  // What is to be written now, whole rows; empty while there is little.
  virtual std::string take() = 0;
  virtual std::string finish() = 0;  // the rest
  virtual engine::ExportCounts counts() const = 0;
};

// What a file that was begun holds; see export_scan.h.
struct ExportScan;

// csv: a line a cell. jsonl: a line a row. cellar: the binary form, with `description`. Goes on
// behind `before` where there is one.
// REQUIRES: one of these formats.
std::unique_ptr<RowWriter> make_row_writer(Format format, const JsonForms& forms,
                                           std::string description, const ExportScan* before);

}  // namespace cellar::cli
