// CSV of RFC 4180: quoted fields may contain commas, doubled quotes and line breaks.
#pragma once

#include <string>
#include <vector>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// Returns the fields of the next record, which may span lines and at most 64 MiB if it does; empty
// at the end. INVALID_ARGUMENT: an unterminated quote or one inside a plain field. Reading
// continues with the line after the last quote that opened; in a pipe, which cannot go back, after
// all lines that were read, and the message names them.
Result<std::optional<std::vector<std::string>>> read_csv(LineReader& lines);

// Returns the fields of one line. INVALID_ARGUMENT as above.
Result<std::vector<std::string>> split_csv(std::string_view line);

std::unique_ptr<RecordSource> csv_source(LineReader lines, const SourceOptions& options);

}  // namespace cellar::cli
