#include "net/client/api/options.h"

namespace cellar::client {

// FNV-1a, which is easy to implement in other languages.
uint64_t hint_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

}  // namespace cellar::client
