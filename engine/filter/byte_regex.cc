#include "engine/filter/byte_regex.h"

#include <re2/re2.h>

#include <algorithm>

namespace cellar::engine {
namespace {

// The basic share of every expression, and the share per byte of it: RE2 gives a quarter of its
// memory to the program, in which a byte of a pattern takes about 16 bytes.
constexpr size_t kShareBytes = 10u << 10;
constexpr size_t kSharePerByte = 128;
constexpr size_t kMaxShareBytes = 2u << 20;
// Length limit of the least and greatest match requested from RE2.
constexpr int kRangeBytes = 64;

re2::StringPiece piece(Bytes b) { return {b.data(), b.size()}; }

}  // namespace

size_t regex_memory_share(size_t bytes, size_t count, size_t total_bytes) {
  const size_t least = count * kShareBytes + total_bytes * kSharePerByte;
  const size_t spare = kRegexMemoryBytes > least ? (kRegexMemoryBytes - least) / count : 0;
  return kShareBytes + bytes * kSharePerByte + std::min(spare, kMaxShareBytes);
}

Result<std::unique_ptr<ByteRegex>> ByteRegex::compile(Bytes pattern, size_t memory_bytes,
                                                      std::string_view what) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(static_cast<int64_t>(memory_bytes));
  auto regex = std::make_unique<re2::RE2>(piece(pattern), options);
  if (regex->error_code() == re2::RE2::ErrorPatternTooLarge) {
    return fail(Errc::invalid_argument,
                "{}: the regular expression '{}' needs more than its share of {} bytes of memory",
                what, escape_bytes(pattern), memory_bytes);
  }
  if (!regex->ok()) {
    return fail(Errc::invalid_argument, "{}: '{}' is no regular expression: {}", what,
                escape_bytes(pattern), regex->error());
  }
  return std::unique_ptr<ByteRegex>(new ByteRegex(std::move(regex)));
}

ByteRegex::ByteRegex(std::unique_ptr<re2::RE2> regex) : regex_(std::move(regex)) {}
ByteRegex::~ByteRegex() = default;

bool ByteRegex::matches(Bytes input) const { return re2::RE2::FullMatch(piece(input), *regex_); }

KeyRange ByteRegex::possible_range() const {
  std::string least;
  std::string greatest;
  if (!regex_->PossibleMatchRange(&least, &greatest, kRangeBytes)) return {};
  // Truncated bytes of 0xff have no successor, and then the range is unbounded.
  if (greatest.empty()) return {std::move(least), std::string()};
  // `greatest` is inclusive; if it was truncated, it is already the successor of the truncated
  // value.
  return {std::move(least), std::move(greatest) + '\0'};
}

}  // namespace cellar::engine
