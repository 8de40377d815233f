// CSV with a line a cell, as `cellar export` writes it:
//
//   row,family,qualifier,timestamp,value,expire_at
//   libc6,install,amd64,1763712000000000,2.36-9,
//
// The last field is when the cell dies by itself, in microseconds, and empty where it does not. A
// file without that column is read too.
// The header names the forms: "row/hex", "qualifier/base64", "value/int64"; without one a field is
// text in which the backslash escapes (\n, \\, \xHH). So a line is a line, whatever the bytes.
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
// The forms that a header names; nothing when it is another header.
std::optional<JsonForms> cell_csv_forms(std::span<const std::string> header);

// Behind the header. Lines of one row that follow one another become one mutation.
std::unique_ptr<RecordSource> cell_csv_source(LineReader lines, const SourceOptions& options,
                                              const JsonForms& forms);

}  // namespace cellar::cli
