#include "net/security/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

namespace cellar::security {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <size_t N>
std::string hex_of(const std::array<uint8_t, N>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * N);
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string to_hex(const Digest& digest) { return hex_of(digest); }

Result<Digest> parse_hex_digest(std::string_view hex) {
  Digest digest;
  bool good = hex.size() == 2 * digest.size();
  for (size_t i = 0; good && i < digest.size(); ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    digest[i] = static_cast<uint8_t>(high * 16 + low);
  }
  if (good) return digest;
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
  std::string token = std::string(kTokenPrefix) + hex_of(secret);
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
