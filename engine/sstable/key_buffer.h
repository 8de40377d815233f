// KeyBuffer: a key under construction that allocates only if the key is long.
#pragma once

#include <cstring>
#include <memory>

#include "io/base/bytes.h"

namespace cellar::engine {

class KeyBuffer {
 public:
  static constexpr size_t kInlineBytes = 256;

  KeyBuffer() = default;
  KeyBuffer(const KeyBuffer&) = delete;
  KeyBuffer& operator=(const KeyBuffer&) = delete;

  // Keeps the first `keep` bytes and appends `tail`. REQUIRES: keep <= size().
  void replace_tail(size_t keep, Bytes tail) {
    const size_t size = keep + tail.size();
    if (size > capacity_) grow(keep, size);
    if (!tail.empty()) std::memcpy(data_ + keep, tail.data(), tail.size());
    size_ = size;
  }
  // As replace_tail; `readable` bytes may be read from the start of `tail`.
  void replace_tail(size_t keep, Bytes tail, size_t readable) {
    if (tail.size() > kShortBytes || readable < kShortBytes || keep + kShortBytes > capacity_)
      return replace_tail(keep, tail);
    // A few moves without a call.
    std::memcpy(data_ + keep, tail.data(), kShortBytes / 2);
    if (tail.size() > kShortBytes / 2)
      std::memcpy(data_ + keep + kShortBytes / 2, tail.data() + kShortBytes / 2, kShortBytes / 2);
    size_ = keep + tail.size();
  }
  void assign(Bytes key) { replace_tail(0, key); }
  void clear() { size_ = 0; }
  // Up to this size nothing is moved.
  void reserve(size_t size) {
    if (size > capacity_) grow(size_, size);
  }
  size_t size() const { return size_; }
  Bytes view() const { return {data_, size_}; }

 private:
  static constexpr size_t kShortBytes = 64;

  void grow(size_t keep, size_t size) {
    auto bigger = std::make_unique_for_overwrite<char[]>(2 * size);
    std::memcpy(bigger.get(), data_, keep);
    heap_ = std::move(bigger);
    data_ = heap_.get();
    capacity_ = 2 * size;
  }

  char inline_[kInlineBytes];
  char* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = kInlineBytes;
  std::unique_ptr<char[]> heap_;
};

}  // namespace cellar::engine
