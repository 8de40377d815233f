// Names of operations and codes in HTTP replies: "read_row", "not_found".
#pragma once

#include <string>

#include "io/base/result.h"

namespace cellar::http {

// By wire number; "none" for an unknown one.
std::string op_name(size_t op);
std::string code_name(Errc code);

}  // namespace cellar::http
