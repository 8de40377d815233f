// IoClass: the purpose of a disk request. An I/O scheduler uses it for queueing order and shares.
#pragma once

#include <cstdint>

namespace cellar {

enum class IoClass : uint8_t { log, read, flush, compaction };

}  // namespace cellar
