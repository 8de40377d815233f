// Bodies aligned as in a receive buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "net/wire/body.h"

namespace cellar::wire {

// Null if it is not such a body. `aligned` owns the bytes of the result.
template <class Root>
const Root* root_of(const std::string& body, std::vector<uint64_t>& aligned) {
  aligned.assign(body.size() / 8 + 1, 0);
  std::memcpy(aligned.data(), body.data(), body.size());
  return verified<Root>({reinterpret_cast<const char*>(aligned.data()), body.size()});
}

}  // namespace cellar::wire
