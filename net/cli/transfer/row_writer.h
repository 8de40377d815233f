// Writers of exported rows in the file formats.
#pragma once

#include <memory>
#include <string>

#include "engine/export/export_format.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// An incomplete row is discarded when the next one begins.
class RowWriter {
 public:
  // Bytes collected before take() returns them.
  static constexpr size_t kPieceBytes = engine::kExportBlockBytes;

  virtual ~RowWriter() = default;
  virtual std::string begin() = 0;  // the start of the file
  virtual void begin_row(Bytes key) = 0;
  virtual void add(const client::Cell& cell) = 0;
  virtual void end_row() = 0;
  // The bytes to write now, complete rows; empty while there are few.
  virtual std::string take() = 0;
  virtual std::string finish() = 0;  // the rest
  virtual engine::ExportCounts counts() const = 0;
};

// The state of a file that is continued; see export_scan.h.
struct ExportScan;

// csv: one line per cell. jsonl: one line per row. cellar: the binary form, with `description`.
// Continues after `before`, if given. REQUIRES: one of these formats.
std::unique_ptr<RowWriter> make_row_writer(Format format, const JsonForms& forms,
                                           std::string description, const ExportScan* before);

}  // namespace cellar::cli
