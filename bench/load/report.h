// The output of a run: a table, or one JSON object per run.
#pragma once

#include <string>

#include "bench/load/generator.h"

namespace cellar::bench {

std::string text_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result);
std::string json_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result);

}  // namespace cellar::bench
