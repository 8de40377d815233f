// CSV with one line per cell, as written by `cellar export`:
//
//   row,family,qualifier,timestamp,value,expire_at
//   libc6,install,amd64,1763712000000000,2.36-9,
//
// The last field is the cell's own expiry in microseconds; empty: none. The column is optional on
// import. The header names the forms: "row/hex", "qualifier/base64", "value/int64"; otherwise a
// field is text with backslash escapes (\n, \\, \xHH). A record is therefore always one line.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/cli/session/json_rows.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

inline constexpr size_t kCellCsvFields = 6;

std::string cell_csv_header(const JsonForms& forms);
// The forms named by a header; empty if it is another kind of header.
std::optional<JsonForms> cell_csv_forms(std::span<const std::string> header);

// Reads the lines after the header. Consecutive lines of one row become one mutation.
std::unique_ptr<RecordSource> cell_csv_source(LineReader lines, const SourceOptions& options,
                                              const JsonForms& forms);

}  // namespace cellar::cli
