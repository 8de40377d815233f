// Who asks for disk work; decides queueing order and share where a body schedules.
#pragma once

#include <cstdint>

namespace cellar {

enum class IoClass : uint8_t { log, read, flush, compaction };

}  // namespace cellar
