// Which table a request names, before its handler looks: for what holds for all operations on a
// table alike.
#pragma once

#include <string_view>

#include "net/wire/frame.h"

namespace cellar::server {

// The name in the body, viewed there; empty when the operation has none, the body names none (then
// the header may have its number), or it cannot be verified, which its handler tells.
std::string_view named_table(const wire::Frame& frame);

}  // namespace cellar::server
