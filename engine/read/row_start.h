// RowStart: a row whose read was started elsewhere: its stamp and time, and the progress.
#pragma once

#include <cstdint>

#include "engine/model/types.h"

namespace cellar::engine {

struct RowStart {
  CommitStamp stamp;
  int64_t now_us = 0;
  uint64_t cells = 0;  // number of cells already returned
};

}  // namespace cellar::engine
