#include "io/sim/mem_node.h"

#include <algorithm>
#include <cstring>

namespace cellar {

SparseBytes::Chunk& SparseBytes::writable(uint64_t chunk) {
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  auto& slot = chunks_[chunk];
  if (slot == nullptr) {
    slot = std::make_shared<Chunk>();
    slot->fill(0);
  } else if (slot.use_count() > 1) {
    slot = std::make_shared<Chunk>(*slot);
  }
  return *slot;
}

void SparseBytes::read(uint64_t offset, char* into, size_t size) const {
  while (size > 0) {
    const uint64_t chunk = offset / kChunkBytes;
    const size_t at = offset % kChunkBytes;
    const size_t n = std::min(size, kChunkBytes - at);
    if (chunk < chunks_.size() && chunks_[chunk] != nullptr) {
      std::memcpy(into, chunks_[chunk]->data() + at, n);
    } else {
      std::memset(into, 0, n);
    }
    offset += n, into += n, size -= n;
  }
}

void SparseBytes::write(uint64_t offset, const char* from, size_t size) {
  while (size > 0) {
    const size_t at = offset % kChunkBytes;
    const size_t n = std::min(size, kChunkBytes - at);
    std::memcpy(writable(offset / kChunkBytes).data() + at, from, n);
    offset += n, from += n, size -= n;
  }
}

void SparseBytes::zero(uint64_t offset, uint64_t size) {
  while (size > 0 && offset / kChunkBytes < chunks_.size()) {
    const uint64_t chunk = offset / kChunkBytes;
    const size_t at = offset % kChunkBytes;
    const uint64_t n = std::min<uint64_t>(size, kChunkBytes - at);
    if (n == kChunkBytes) {
      chunks_[chunk].reset();
    } else if (chunks_[chunk] != nullptr) {
      std::memset(writable(chunk).data() + at, 0, n);
    }
    offset += n, size -= n;
  }
}

void SparseBytes::copy_units(const SparseBytes& from, uint64_t chunk, uint8_t units) {
  const std::shared_ptr<Chunk> source = chunk < from.chunks_.size() ? from.chunks_[chunk] : nullptr;
  if (units == 0xff) {
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    chunks_[chunk] = source;
    return;
  }
  for (size_t unit = 0; unit < kUnitsPerChunk; ++unit) {
    if ((units >> unit & 1) == 0) continue;
    char* to = writable(chunk).data() + unit * kUnitBytes;
    if (source == nullptr) {
      std::memset(to, 0, kUnitBytes);
    } else {
      std::memcpy(to, source->data() + unit * kUnitBytes, kUnitBytes);
    }
  }
}

void MemNode::mark_dirty(uint64_t offset, uint64_t length) {
  if (length == 0) return;
  const uint64_t last = (offset + length - 1) / SparseBytes::kUnitBytes;
  for (uint64_t unit = offset / SparseBytes::kUnitBytes; unit <= last; ++unit) {
    dirty[unit / SparseBytes::kUnitsPerChunk] |=
        static_cast<uint8_t>(1u << unit % SparseBytes::kUnitsPerChunk);
  }
}

void MemNode::write(uint64_t offset, const char* from, size_t length) {
  now.write(offset, from, length);
  mark_dirty(offset, length);
  size = std::max(size, offset + length);
}

void MemNode::resize(uint64_t to) {
  if (to < size) {
    now.zero(to, size - to);
    mark_dirty(to, size - to);
  }
  size = to;
}

void MemNode::make_durable(const DirtyUnits& units, uint64_t to_size) {
  for (const auto& [chunk, mask] : units) {
    durable.copy_units(now, chunk, mask);
    const auto it = dirty.find(chunk);
    if (it == dirty.end()) continue;
    it->second &= static_cast<uint8_t>(~mask);
    if (it->second == 0) dirty.erase(it);
  }
  durable_size = to_size;
}

void MemNode::make_range_durable(uint64_t offset, uint64_t length) {
  if (length == 0) return;
  DirtyUnits units;
  const uint64_t last = (offset + length - 1) / SparseBytes::kUnitBytes;
  for (uint64_t unit = offset / SparseBytes::kUnitBytes; unit <= last; ++unit) {
    units[unit / SparseBytes::kUnitsPerChunk] |=
        static_cast<uint8_t>(1u << unit % SparseBytes::kUnitsPerChunk);
  }
  make_durable(units, std::max(durable_size, std::min(size, offset + length)));
}

}  // namespace cellar
