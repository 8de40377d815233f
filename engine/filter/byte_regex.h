// ByteRegex: a regular expression over bytes that must match the whole input (SEMANTICS 6). RE2 in
// Latin-1 mode: a byte is a character, '.' matches every byte except newline, \C every byte. Time
// is linear in the input. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "engine/model/read_spec.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace re2 {
class RE2;
}

namespace cellar::engine {

// Memory limit of all expressions of one filter, compiled and with their caches.
inline constexpr size_t kRegexMemoryBytes = 24u << 20;

// The share of an expression of `bytes`, if `count` expressions of `total_bytes` share the limit.
size_t regex_memory_share(size_t bytes, size_t count, size_t total_bytes);

class ByteRegex {
 public:
  // INVALID_ARGUMENT with RE2's message; `what` names the expression in it.
  static Result<std::unique_ptr<ByteRegex>> compile(Bytes pattern, size_t memory_bytes,
                                                    std::string_view what);
  ~ByteRegex();
  ByteRegex(const ByteRegex&) = delete;
  ByteRegex& operator=(const ByteRegex&) = delete;

  bool matches(Bytes input) const;
  // Inputs outside this range do not match.
  KeyRange possible_range() const;

 private:
  explicit ByteRegex(std::unique_ptr<re2::RE2> regex);

  std::unique_ptr<re2::RE2> regex_;
};

}  // namespace cellar::engine
