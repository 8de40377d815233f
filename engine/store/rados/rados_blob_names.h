// How a blob lies in a pool: pieces of kRadosPieceBytes, `<blob id, 16 hex>.<number, hex>`, the
// last one shorter. Piece 0 is the head. Its attributes:
//
//   attempt   who writes the blob: a later blob of the same id has another
//   state     "open" or "sealed"
//   size      of the whole, decimal; of a sealed blob
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/types.h"
#include "engine/store/file/hex_name.h"

namespace cellar::engine {

inline constexpr size_t kRadosPieceBytes = 4u << 20;
inline constexpr std::string_view kAttemptXattr = "attempt";
inline constexpr std::string_view kStateXattr = "state";
inline constexpr std::string_view kSizeXattr = "size";
inline constexpr std::string_view kOpen = "open";
inline constexpr std::string_view kSealed = "sealed";

inline std::string piece_name(BlobId id, uint64_t number) {
  return fmt::format("{:016x}.{:x}", id.value(), number);
}

struct PieceName {
  BlobId id;
  uint64_t number = 0;
};
inline std::optional<PieceName> parse_piece_name(std::string_view name) {
  constexpr size_t kIdDigits = 16;
  if (name.size() < kIdDigits + 2 || name[kIdDigits] != '.') return std::nullopt;
  const auto id = parse_hex(name.substr(0, kIdDigits), kIdDigits);
  const std::string_view digits = name.substr(kIdDigits + 1);
  const auto number = parse_hex(digits, digits.size());
  if (!id || !number) return std::nullopt;
  return PieceName{BlobId(*id), *number};
}

inline uint64_t pieces_of(uint64_t size) {
  return size == 0 ? 1 : (size + kRadosPieceBytes - 1) / kRadosPieceBytes;
}

}  // namespace cellar::engine
