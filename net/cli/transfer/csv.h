// CSV of RFC 4180: quoted fields may contain commas, doubled quotes and line breaks.
#pragma once

#include <string>
#include <vector>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// Returns the fields of the next record, which may span lines; empty at the end. INVALID_ARGUMENT:
// an unterminated quote or one inside a plain field; reading continues with the next line.
Result<std::optional<std::vector<std::string>>> read_csv(LineReader& lines);

// Returns the fields of one line. INVALID_ARGUMENT as above.
Result<std::vector<std::string>> split_csv(std::string_view line);

std::unique_ptr<RecordSource> csv_source(LineReader lines, const SourceOptions& options);

}  // namespace cellar::cli
