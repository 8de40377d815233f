#include "net/security/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "io/base/hex.h"

namespace cellar::security {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string to_hex(const Digest& digest) {
  return cellar::to_hex(as_bytes_view(std::as_bytes(std::span(digest))));
}

Result<Digest> parse_hex_digest(std::string_view hex) {
  Digest digest;
  const bool good = hex.size() == 2 * digest.size();
  for (size_t i = 0; good && i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(hex_digit(hex[2 * i]) * 16 + hex_digit(hex[2 * i + 1]));
  }
  if (good && to_hex(digest) == hex) return digest;  // else a character is none of the digits
  return fail(Errc::invalid_argument, "a SHA-256 is 64 digits of 0-9 and a-f");
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<std::string> create_token() {
  std::array<uint8_t, kTokenSecretBytes> secret;
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) {
    return fail(Errc::internal, "the system has no randomness for a token");
  }
  std::string token =
      std::string(kTokenPrefix) + cellar::to_hex(as_bytes_view(std::as_bytes(std::span(secret))));
  OPENSSL_cleanse(secret.data(), secret.size());
  return token;
}

std::string hash_text(std::string_view token) {
  return std::string(kHashPrefix) + to_hex(sha256(token));
}

Result<Digest> parse_hash_text(std::string_view text) {
  if (!text.starts_with(kHashPrefix)) {
    return fail(Errc::invalid_argument,
                "a token's hash begins with '{}'; make one with: cellar token create", kHashPrefix);
  }
  return parse_hex_digest(text.substr(kHashPrefix.size()));
}

std::string token_fingerprint(std::string_view token) { return to_hex(sha256(token)).substr(0, 8); }

}  // namespace cellar::security
