// Finds the table that a request names before its handler runs, for checks common to all
// operations.
#pragma once

#include <string_view>

#include "net/wire/frame.h"

namespace cellar::server {

// The table name in the body, as a view. Empty if the operation has none, the body names none (the
// header may have the id), or the body is invalid, which the handler reports.
std::string_view named_table(const wire::Frame& frame);

}  // namespace cellar::server
