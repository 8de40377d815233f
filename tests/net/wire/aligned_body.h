// Bodies aligned as in a receive buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "net/wire/body.h"
#include "net/wire/frame.h"

namespace cellar::wire {

// Null if it is not such a body. `aligned` owns the bytes of the result.
template <class Root>
const Root* root_of(const std::string& body, std::vector<uint64_t>& aligned) {
  aligned.assign(body.size() / 8 + 1, 0);
  std::memcpy(aligned.data(), body.data(), body.size());
  return verified<Root>({reinterpret_cast<const char*>(aligned.data()), body.size()});
}

// The body as a frame has it.
inline std::string joined(const BodyParts& parts) {
  std::string body = std::string(parts.head) + std::string(parts.tail);
  body.resize(pad_to_8(body.size()));
  return body;
}

}  // namespace cellar::wire
