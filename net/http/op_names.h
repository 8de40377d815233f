// Names of operations and codes as HTTP shows them: "read_row", "not_found".
#pragma once

#include <string>

#include "io/base/result.h"

namespace cellar::http {

// By the number on the wire; "none" for one that does not exist.
std::string op_name(size_t op);
std::string code_name(Errc code);

}  // namespace cellar::http
