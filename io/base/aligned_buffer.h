// AlignedBuffer: owned memory aligned and sized for direct I/O (4 KiB). Movable, not copyable.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "io/base/bytes.h"
#include "io/base/large_memory.h"

namespace cellar {

inline constexpr size_t kIoAlignment = 4096;
constexpr uint64_t align_up(uint64_t n, uint64_t alignment = kIoAlignment) {
  return (n + alignment - 1) / alignment * alignment;
}
constexpr uint64_t align_down(uint64_t n, uint64_t alignment = kIoAlignment) {
  return n / alignment * alignment;
}

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // The contents are not zeroed. Callers that write a recycled buffer zero the padding, so that old
  // bytes do not reach the disk.
  explicit AlignedBuffer(size_t size) : size_(align_up(size)) {
    data_ =
        static_cast<std::byte*>(allocate_large(size_ == 0 ? kIoAlignment : size_, kIoAlignment));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  ~AlignedBuffer() { free_large(data_, size_); }
  AlignedBuffer(AlignedBuffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }

  std::byte* data() const { return data_; }
  char* chars() const { return reinterpret_cast<char*>(data_); }
  size_t size() const { return size_; }
  std::span<std::byte> span() const { return {data_, size_}; }
  std::span<std::byte> span(size_t offset, size_t n) const { return {data_ + offset, n}; }
  Bytes bytes(size_t offset, size_t n) const { return {chars() + offset, n}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cellar
