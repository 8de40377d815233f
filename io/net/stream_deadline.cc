#include "io/net/stream_deadline.h"

#include <array>

namespace cellar {

Async<void> StreamDeadline::linger(int64_t for_us, size_t most_bytes) {
  timer_.arm_after_us(for_us);
  std::array<std::byte, 4096> buffer;
  for (size_t dropped = 0; dropped < most_bytes;) {
    const Result<size_t> n = co_await stream_.read_some(buffer);
    if (!n || *n == 0) co_return;
    dropped += *n;
  }
}

}  // namespace cellar
