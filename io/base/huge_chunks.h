// HugeChunks: chunks of 2 MiB of memory that are resident already, and backed by huge pages where
// the system has them. Thread-safe; one for all shards of a process.
//
// A thread of its own with a low priority makes them. The first touch of a chunk clears 2 MiB,
// which takes milliseconds on a virtual machine whose host has to find the memory first; on the
// thread of a shard this would be a stall. take() therefore never waits: if no chunk is ready, the
// caller takes memory from the heap for now.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cellar {

class HugeChunks {
 public:
  static constexpr size_t kChunkBytes = 2 * 1024 * 1024;
  // Made in advance, after the first take(). No memory budget counts them.
  static constexpr size_t kMostReady = 2;

  // Unmaps a chunk, in some 100 us.
  struct Unmap {
    void operator()(char* chunk) const;
  };
  using Chunk = std::unique_ptr<char[], Unmap>;  // aligned to kChunkBytes

  HugeChunks();
  ~HugeChunks();
  HugeChunks(const HugeChunks&) = delete;
  HugeChunks& operator=(const HugeChunks&) = delete;

  // Null: none is ready; one soon will be, unless the system has no memory. The contents of a chunk
  // are undefined.
  Chunk take();

 private:
  void make_all();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Chunk> ready_;
  bool wanted_ = false;  // since the last time that kMostReady were ready or none could be made
  bool stopping_ = false;
  std::thread maker_;  // last: it uses the others
};

}  // namespace cellar
