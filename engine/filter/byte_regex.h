// ByteRegex: a regular expression over bytes that must match the whole input (SEMANTICS 6). RE2 in
// Latin-1 mode: a byte is a character, '.' is every byte but the newline, \C is every byte. Time is
// linear in the input. May be used from several threads.
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

// What the expressions of one filter may use together, compiled and cached while they run.
inline constexpr size_t kRegexMemoryBytes = 24u << 20;

// How much of it an expression of so many bytes gets, when `count` expressions of `total_bytes`
// share it.
size_t regex_memory_share(size_t bytes, size_t count, size_t total_bytes);

class ByteRegex {
 public:
  // INVALID_ARGUMENT with what RE2 says against it; `what` names it in the sentence.
  static Result<std::unique_ptr<ByteRegex>> compile(Bytes pattern, size_t memory_bytes,
                                                    std::string_view what);
  ~ByteRegex();
  ByteRegex(const ByteRegex&) = delete;
  ByteRegex& operator=(const ByteRegex&) = delete;

  bool matches(Bytes input) const;
  // Rows outside of it do not match.
  KeyRange possible_rows() const;

 private:
  explicit ByteRegex(std::unique_ptr<re2::RE2> regex);

  std::unique_ptr<re2::RE2> regex_;
};

}  // namespace cellar::engine
