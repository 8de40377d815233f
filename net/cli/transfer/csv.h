// CSV as RFC 4180 has it: fields in quotes may hold commas, quotes (doubled) and line breaks.
#pragma once

#include <string>
#include <vector>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// The fields of the next record, which may take several lines; nothing at the end.
// INVALID_ARGUMENT: a quote that does not end or stands inside a plain field; reading goes on with
// the next line.
Result<std::optional<std::vector<std::string>>> read_csv(LineReader& lines);

// The fields of one line. INVALID_ARGUMENT as above, also for a quote that is not closed.
Result<std::vector<std::string>> split_csv(std::string_view line);

std::unique_ptr<RecordSource> csv_source(LineReader lines, const SourceOptions& options);

}  // namespace cellar::cli
