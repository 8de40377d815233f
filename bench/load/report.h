// What a run prints: a table for people, one JSON object a run for programs.
#pragma once

#include <string>

#include "bench/load/generator.h"

namespace cellar::bench {

std::string text_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result);
std::string json_report(const std::string& name, const LoadOptions& options,
                        const LoadResult& result);

}  // namespace cellar::bench
