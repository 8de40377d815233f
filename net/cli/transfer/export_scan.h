// What a file holds whose export was cut off: how far it is whole, and after which row to go on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "engine/export/export_check.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

struct ExportScan {
  uint64_t bytes = 0;       // whole up to here; what follows is cut off
  std::string last_key;     // of the last whole row; empty: there is none
  bool complete = false;    // the end is there (cellar only: text has no end mark)
  std::string description;  // cellar only
  uint32_t chain = 0;       // cellar only
  engine::ExportCounts counts;
};

// Reads the file from its beginning. FAILED_PRECONDITION: it is not one that such an export began;
// DATA_LOSS never: damage is where it is cut.
Result<ExportScan> scan_export(std::FILE* file, Format format, const JsonForms& forms);

// Reads exactly `size` bytes; fewer at the end of the file.
std::string read_piece(std::FILE* file, size_t size);

}  // namespace cellar::cli
