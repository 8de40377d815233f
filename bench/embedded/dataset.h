// The rows of a run, like those of RocksDB's db_bench: numbered keys of one length, values that
// compress to half of their length.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "io/base/bytes.h"
#include "io/base/random.h"

namespace cellar::bench {

inline constexpr size_t kRowKeyBytes = 32;

// 16 hexadecimal digits in the order of the numbers, then zeros.
class RowKey {
 public:
  explicit RowKey(uint64_t number = 0) {
    bytes_.fill('0');
    set(number);
  }
  void set(uint64_t number) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (size_t i = 16; i-- > 0; number >>= 4) bytes_[i] = kDigits[number & 15];
  }
  Bytes bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kRowKeyBytes> bytes_;
};

// Slices of one long string: of every 100 bytes 50 are random and 50 repeat them.
class ValueSource {
 public:
  explicit ValueSource(uint64_t seed) {
    Random random(seed);
    while (text_.size() < kTextBytes) {
      std::string half(50, ' ');
      for (char& c : half) c = static_cast<char>(' ' + random.below(95));
      text_ += half + half;
    }
  }
  // A view that lives as long as the source. REQUIRES: bytes <= kTextBytes.
  Bytes next(size_t bytes) {
    if (place_ + bytes > text_.size()) place_ = 0;
    const Bytes value(text_.data() + place_, bytes);
    place_ += bytes;
    return value;
  }
  static constexpr size_t kTextBytes = 1u << 20;

 private:
  std::string text_;
  size_t place_ = 0;
};

}  // namespace cellar::bench
