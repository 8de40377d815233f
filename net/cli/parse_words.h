// Words of the command line that stand for values of the model. INVALID_ARGUMENT names the word.
#pragma once

#include <string>

#include "engine/model/types.h"
#include "io/base/result.h"
#include "net/client/admin.h"

namespace cellar::cli {

Result<Granularity> parse_granularity(const std::string& name);
Result<Durability> parse_durability(const std::string& name);
Result<client::Compression> parse_compression(const std::string& name);

}  // namespace cellar::cli
