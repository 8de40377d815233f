// Tokens: secrets of 256 random bits that identify a principal. A node stores only their SHA-256,
// so a leaked file reveals no credentials; the README explains the choice of hash.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar::security {

inline constexpr size_t kTokenSecretBytes = 32;
inline constexpr size_t kMaxTokenBytes = 256;  // longest token accepted from a client
inline constexpr std::string_view kTokenPrefix = "cellar-";

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);
// Exactly 64 hex digits.
Result<Digest> parse_hex_digest(std::string_view hex);
// Constant-time comparison.
bool equal_in_constant_time(const Digest& a, const Digest& b);

// "cellar-" and 64 hex digits. INTERNAL if the system provides no randomness.
Result<std::string> create_token();
// "sha256:" and 64 hex digits, as in the principals file.
std::string hash_text(std::string_view token);
Result<Digest> parse_hash_text(std::string_view text);
// The first 8 hex digits of the token's hash, for logs.
std::string token_fingerprint(std::string_view token);

}  // namespace cellar::security
