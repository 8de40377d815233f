// Inspects the file of an interrupted export: the valid length, and the row after which to
// continue.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "engine/export/export_check.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

struct ExportScan {
  uint64_t bytes = 0;       // valid length; the rest is cut off
  std::string last_key;     // last complete row; empty: none
  bool complete = false;    // the end mark is present (cellar only: text has none)
  std::string description;  // cellar only
  uint32_t chain = 0;       // cellar only
  engine::ExportCounts counts;
};

// Reads the file from its beginning. FAILED_PRECONDITION: not a file of such an export. Never
// DATA_LOSS: the file is cut where damage begins.
Result<ExportScan> scan_export(std::FILE* file, Format format, const JsonForms& forms);

// Reads exactly `size` bytes; fewer at the end of the file.
std::string read_piece(std::FILE* file, size_t size);

}  // namespace cellar::cli
