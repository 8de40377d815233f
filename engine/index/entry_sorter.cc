#include "engine/index/entry_sorter.h"

#include <algorithm>
#include <utility>

#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr size_t kHeadBytes = 5;

Bytes key_at(const std::string& entries, uint32_t at) {
  return {entries.data() + at + kHeadBytes, load_le<uint32_t>(entries.data() + at)};
}

Bytes value_at(const std::string& entries, uint32_t at) {
  const Bytes key = key_at(entries, at);
  return {key.data() + key.size(), static_cast<uint8_t>(entries[at + sizeof(uint32_t)])};
}

}  // namespace

void EntrySorter::add(Bytes key, Bytes value) {
  const size_t bytes = kHeadBytes + key.size() + value.size();
  if (chunks_.empty() || chunks_.back().entries.size() + bytes > kChunkBytes) {
    if (!chunks_.empty()) close_chunk();
    chunks_.emplace_back().entries.reserve(std::max(kChunkBytes, bytes));
    bytes_ += std::max(kChunkBytes, bytes);
  }
  Chunk& chunk = chunks_.back();
  chunk.order.push_back(static_cast<uint32_t>(chunk.entries.size()));
  put_u32(chunk.entries, static_cast<uint32_t>(key.size()));
  put_u8(chunk.entries, static_cast<uint8_t>(value.size()));
  chunk.entries.append(key);
  chunk.entries.append(value);
  bytes_ += sizeof(uint32_t);
  ++added_;
}

void EntrySorter::close_chunk() {
  Chunk& chunk = chunks_.back();
  std::ranges::sort(chunk.order, [&chunk](uint32_t a, uint32_t b) {
    const auto order = key_at(chunk.entries, a) <=> key_at(chunk.entries, b);
    return order == 0 ? a < b : order < 0;
  });
}

void EntrySorter::sort() {
  if (!chunks_.empty()) close_chunk();
  for (uint32_t i = 0; i < chunks_.size(); ++i) push(i);
}

bool EntrySorter::after(const Node& a, const Node& b) {
  if (a.head != b.head) return a.head > b.head;
  const auto order = a.key <=> b.key;
  return order == 0 ? a.chunk > b.chunk : order > 0;
}

void EntrySorter::push(uint32_t chunk) {
  Chunk& from = chunks_[chunk];
  if (from.next == from.order.size()) {
    from = Chunk();  // its memory is not needed any more
    return;
  }
  const Bytes key = key_at(from.entries, from.order[from.next]);
  heap_.push_back({key_head(key), key, chunk});
  std::push_heap(heap_.begin(), heap_.end(), after);
}

void EntrySorter::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), after);
  const uint32_t chunk = heap_.back().chunk;
  heap_.pop_back();
  ++chunks_[chunk].next;
  push(chunk);
}

bool EntrySorter::next() {
  if (heap_.empty()) return false;
  const Chunk& chunk = chunks_[heap_.front().chunk];
  key_.assign(heap_.front().key);
  value_.assign(value_at(chunk.entries, chunk.order[chunk.next]));
  while (!heap_.empty() && heap_.front().key == key_) pop();
  return true;
}

}  // namespace cellar::engine
