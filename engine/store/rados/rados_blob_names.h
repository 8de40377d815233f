// How a blob lies in a pool: pieces of kRadosPieceBytes, the last one shorter. Piece 0 is the head,
// `<blob id, 16 hex>.0`; the others are `<blob id>.<attempt, 16 hex>.<number, hex>`, so that no two
// attempts write or remove the same piece. Attributes of the head:
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

inline std::string head_name(BlobId id) { return fmt::format("{:016x}.0", id.value()); }
// REQUIRES: number > 0.
inline std::string piece_name(BlobId id, std::string_view attempt, uint64_t number) {
  return fmt::format("{:016x}.{}.{:x}", id.value(), attempt, number);
}
// What all names of a blob begin with.
inline std::string blob_prefix(BlobId id) { return fmt::format("{:016x}.", id.value()); }

struct PieceName {
  BlobId id;
  std::string attempt;  // empty: the head
  uint64_t number = 0;
};
inline std::optional<PieceName> parse_piece_name(std::string_view name) {
  constexpr size_t kDigits = 16;  // of an id, and of an attempt
  if (name.size() < kDigits + 2 || name[kDigits] != '.') return std::nullopt;
  const auto id = parse_hex(name.substr(0, kDigits), kDigits);
  if (!id) return std::nullopt;
  const std::string_view rest = name.substr(kDigits + 1);
  if (rest == "0") return PieceName{BlobId(*id), std::string(), 0};
  if (rest.size() < kDigits + 2 || rest[kDigits] != '.') return std::nullopt;
  const std::string_view attempt = rest.substr(0, kDigits);
  const std::string_view digits = rest.substr(kDigits + 1);
  const auto number = parse_hex(digits, digits.size());
  if (!parse_hex(attempt, kDigits) || !number || *number == 0) return std::nullopt;
  return PieceName{BlobId(*id), std::string(attempt), *number};
}

inline uint64_t pieces_of(uint64_t size) {
  return size == 0 ? 1 : (size + kRadosPieceBytes - 1) / kRadosPieceBytes;
}

}  // namespace cellar::engine
