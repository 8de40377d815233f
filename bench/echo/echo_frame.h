// The frames of the bare echo: what a request and an answer cost without any work behind them.
//
// A frame is a header of 16 bytes and padding up to its size. The answer to a request has the size
// that the request asks for, and its id.
#pragma once

#include <cstdint>
#include <cstring>

namespace cellar::bench {

struct EchoHeader {
  uint32_t bytes = 0;         // of this frame, with the header
  uint32_t answer_bytes = 0;  // request: of its answer, with the header
  uint64_t id = 0;
};
static_assert(sizeof(EchoHeader) == 16);

inline constexpr uint32_t kMaxEchoBytes = 64u << 20;

inline EchoHeader echo_header(const char* from) {
  EchoHeader header;
  std::memcpy(&header, from, sizeof header);
  return header;
}

}  // namespace cellar::bench
