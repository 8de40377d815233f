// Tokens: secrets of 256 random bits that stand for a principal. A node keeps their SHA-256 only,
// so its files give nobody away; see the README for why that hash is right here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar::security {

inline constexpr size_t kTokenSecretBytes = 32;
inline constexpr size_t kMaxTokenBytes = 256;  // of what a client presents
inline constexpr std::string_view kTokenPrefix = "cellar-";

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);
// 64 hex digits, nothing else.
Result<Digest> parse_hex_digest(std::string_view hex);
// In a time that does not depend on where they differ.
bool equal_in_constant_time(const Digest& a, const Digest& b);

// "cellar-" and 64 hex digits. INTERNAL when the system has no randomness to give.
Result<std::string> create_token();
// "sha256:" and 64 hex digits, as the file of principals has it.
std::string hash_text(std::string_view token);
Result<Digest> parse_hash_text(std::string_view text);
// The first 8 hex digits of its hash: what logs say of a token.
std::string token_fingerprint(std::string_view token);

}  // namespace cellar::security
