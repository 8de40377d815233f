// Pool: reusable objects, so that a request needs no allocation.
#pragma once

#include <memory>
#include <vector>

namespace cellar::server {

// One shard. T is default-constructible; the user clears its contents.
template <class T>
class Pool {
 public:
  static constexpr size_t kMaxIdle = 1024;

  T* acquire() {
    if (idle_.empty()) return new T();
    T* object = idle_.back().release();
    idle_.pop_back();
    return object;
  }
  void release(T* object) {
    std::unique_ptr<T> owned(object);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(owned));
  }

 private:
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace cellar::server
