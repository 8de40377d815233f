#include "io/base/huge_chunks.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace cellar {
namespace {

// Of a process that computes all the time, the thread gets about a tenth of one processor.
constexpr int kNice = 10;
constexpr size_t kPageBytes = 4096;

// Null: the system has no memory.
HugeChunks::Chunk make_chunk() {
  constexpr size_t kBytes = HugeChunks::kChunkBytes;
  // Twice the size holds an aligned chunk.
  void* const mapped =
      ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(mapped);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kBytes;
  if (before > 0) ::munmap(begin, before);
  if (before < kBytes) ::munmap(begin + before + kBytes, kBytes - before);
  HugeChunks::Chunk chunk(begin + before);
  (void)::madvise(chunk.get(), kBytes, MADV_HUGEPAGE);
  // Page by page, not by one call of the system: that would hold up the mappings of other threads.
  for (size_t page = 0; page < kBytes; page += kPageBytes)
    *static_cast<volatile char*>(chunk.get() + page) = 0;
  return chunk;
}

}  // namespace

void HugeChunks::Unmap::operator()(char* chunk) const { ::munmap(chunk, kChunkBytes); }

HugeChunks::HugeChunks() : maker_([this] { make_all(); }) {}

HugeChunks::~HugeChunks() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  maker_.join();
}

HugeChunks::Chunk HugeChunks::take() {
  Chunk chunk;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return chunk;
    wanted_ = true;
    if (!ready_.empty()) {
      chunk = std::move(ready_.back());
      ready_.pop_back();
    }
  }
  wake_.notify_one();
  return chunk;
}

void HugeChunks::make_all() {
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || wanted_; });
    if (stopping_) return;
    lock.unlock();
    Chunk chunk = make_chunk();
    lock.lock();
    if (chunk != nullptr) ready_.push_back(std::move(chunk));
    wanted_ = chunk != nullptr && ready_.size() < kMostReady;
  }
}

}  // namespace cellar
