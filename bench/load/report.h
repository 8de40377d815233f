// The output of a run: text, a JSON object, CSV of its intervals, a log of histograms.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "bench/load/generator.h"

namespace cellar::bench {

// What a report says about a run besides its options.
struct RunName {
  std::string name;
  std::string server;
  std::string workload;
};

std::string text_report(const RunName& name, const LoadOptions& options, const LoadResult& result);
// bench/README.md describes the fields. `compare` and `report` read them.
boost::json::object json_report(const RunName& name, const LoadOptions& options,
                                const LoadResult& result);
// One line per interval and operation, with a head line.
std::string csv_report(const LoadResult& result);
// The log format 1.3 of HdrHistogram, with a tag per operation: nanoseconds, and maxima in
// milliseconds. REQUIRES: LoadOptions.encodes.
std::string histogram_log(const LoadResult& result);
// One line for a terminal.
std::string progress_line(const std::string& name, const Progress& progress);

}  // namespace cellar::bench
