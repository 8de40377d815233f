#include "engine/sstable/top_level_index.h"

#include <algorithm>

#include "engine/iter/row_order.h"

namespace cellar::engine {

bool TopLevelIndex::is_sampled(uint64_t row_hash) {
  return row_order(row_hash) <= UINT64_MAX / kSampleShare;
}

std::optional<TopLevelIndex::Inner> TopLevelIndex::inner(Bytes contents, uint64_t end) {
  Reader in(contents);
  Inner inner{in.bytes(), end};
  in.varint();
  in.bytes();
  while (in.ok() && !in.at_end()) {
    const uint64_t size = in.varint();
    if (size > inner.data_end) return std::nullopt;
    inner.data_end -= size;
  }
  if (!in.ok() || inner.data_end < kTableHeaderBytes) return std::nullopt;
  return inner;
}

bool TopLevelIndex::open(Bytes contents, const TableIndex& parts, uint64_t end) {
  const auto at = inner(contents, end);
  Reader in(contents);
  in.bytes();
  const uint64_t raw = in.varint();
  const Bytes sample = in.bytes();
  if (!at || raw > kMaxBlockBytes || (!sample.empty() && !sample_.open(sample))) return false;
  most_raw_bytes_ = static_cast<uint32_t>(raw);
  uint64_t offset = at->data_end;
  for (size_t i = 0; i < parts.blocks(); ++i) {
    const uint64_t size = in.varint();
    if (size <= kBlockTrailerBytes || size > kMaxBlockBytes || parts.raw_bytes(i) == 0)
      return false;
    places_.push_back({offset, blocks_, static_cast<uint32_t>(size)});
    offset += size;
    blocks_ += parts.raw_bytes(i);
  }
  if (!in.ok() || !in.at_end()) return false;
  const size_t last = parts.blocks();
  if ((last == 0 ? kTableHeaderBytes : parts.handle(last - 1).end()) != at->data_end) return false;
  slots_ = std::make_unique<BlockSlot[]>(places_.size());
  return true;
}

size_t TopLevelIndex::part_of(size_t block) const {
  const auto behind = std::upper_bound(
      places_.begin(), places_.end(), block,
      [](size_t number, const Place& place) { return number < place.first_block; });
  return static_cast<size_t>(behind - places_.begin()) - 1;
}

size_t TopLevelIndex::memory_bytes() const {
  return places_.capacity() * (sizeof(Place) + sizeof(BlockSlot)) + sample_.memory_bytes();
}

}  // namespace cellar::engine
