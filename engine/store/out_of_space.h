// Distinguishes a full disk from a failed one: nothing was damaged, and a retry can succeed when
// there is room.
#pragma once

#include <cerrno>

#include "io/base/result.h"

namespace cellar::engine {

inline bool is_out_of_space(const Error& error) {
  return error.os_error == ENOSPC || error.os_error == EDQUOT;
}

}  // namespace cellar::engine
