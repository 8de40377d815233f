// RowStart: a row whose reading was begun elsewhere: as of when, and how far it came.
#pragma once

#include <cstdint>

#include "engine/model/types.h"

namespace cellar::engine {

struct RowStart {
  CommitStamp stamp;
  int64_t now_us = 0;
  uint64_t cells = 0;  // that were given already: the first so many of its answer
};

}  // namespace cellar::engine
