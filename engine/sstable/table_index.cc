#include "engine/sstable/table_index.h"

#include "engine/iter/key_head.h"

namespace cellar::engine {

void TableIndexBuilder::add(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                            const TimeBounds& bounds) {
  const Bytes separator = count_ == 0 ? Bytes() : first.substr(0, common_prefix(before, first) + 1);
  const size_t shared = common_prefix(last_separator_, separator);
  put_varint(entries_, shared);
  put_bytes(entries_, separator.substr(shared));
  put_varint(entries_, stored_bytes);
  put_varint(entries_, raw_bytes);
  encode_time_bounds(entries_, bounds);
  last_separator_.assign(separator);
  ++count_;
}

std::string TableIndexBuilder::finish() const {
  std::string out;
  put_varint(out, count_);
  return out + entries_;
}

bool TableIndex::open(Bytes contents, uint64_t data_end) {
  Reader in(contents);
  const uint64_t count = in.varint();
  uint64_t offset = kTableHeaderBytes;
  std::string separator;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    const uint64_t shared = in.varint();
    const Bytes tail = in.bytes();
    const uint64_t size = in.varint();
    const uint64_t raw = in.varint();
    TimeBounds bounds;
    if (!decode_time_bounds(in, bounds) || shared > separator.size()) return false;
    if (size <= kBlockTrailerBytes || size > data_end - offset || raw > kMaxBlockBytes) {
      return false;
    }
    std::string key = separator.substr(0, shared).append(tail);
    if (i > 0 && key <= separator) return false;
    if (keys_.size() + key.size() > UINT32_MAX) return false;
    blocks_.push_back(Block{key_head(key), offset, static_cast<uint32_t>(size),
                            static_cast<uint32_t>(raw), static_cast<uint32_t>(keys_.size()),
                            static_cast<uint32_t>(key.size())});
    bounds_.push_back(bounds);
    most_raw_bytes_ = std::max(most_raw_bytes_, static_cast<uint32_t>(raw));
    keys_.append(key);
    separator = std::move(key);
    offset += size;
  }
  return in.ok() && in.at_end();
}

template <class Before>
size_t TableIndex::last_block(Bytes key, Before before) const {
  const uint64_t head = key_head(key);
  size_t low = 0;
  size_t high = blocks_.size();
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    const Block& block = blocks_[middle];
    const bool left = block.head != head ? block.head < head : before(separator(middle), key);
    (left ? low : high) = middle;
  }
  return low;
}

size_t TableIndex::find(Bytes key) const {
  return last_block(key, [](Bytes separator, Bytes k) { return separator <= k; });
}

size_t TableIndex::find_before(Bytes key) const {
  return last_block(key, [](Bytes separator, Bytes k) { return separator < k; });
}

size_t TableIndex::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) + bounds_.capacity() * sizeof(TimeBounds) +
         keys_.capacity();
}

}  // namespace cellar::engine
