#include "engine/sstable/table_index.h"

#include <algorithm>

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
    blocks_.push_back(Block{offset, static_cast<uint32_t>(size), static_cast<uint32_t>(raw),
                            static_cast<uint32_t>(keys_.size()),
                            static_cast<uint32_t>(key.size())});
    bounds_.push_back(bounds);
    most_raw_bytes_ = std::max(most_raw_bytes_, static_cast<uint32_t>(raw));
    keys_.append(key);
    separator = std::move(key);
    offset += size;
  }
  make_heads();
  return in.ok() && in.at_end();
}

void TableIndex::make_heads() {
  heads_.assign(blocks_.size(), 0);
  if (blocks_.size() < 2) return;
  shared_bytes_ = common_prefix(separator(1), separator(blocks_.size() - 1));
  for (size_t i = 1; i < blocks_.size(); ++i)
    heads_[i] = key_head(separator(i).substr(shared_bytes_));
}

template <class Before>
size_t TableIndex::last_block(Bytes key, Before before) const {
  if (blocks_.size() < 2) return 0;
  const Bytes shared = separator(1).substr(0, shared_bytes_);
  // A key that does not begin as all separators do lies on one side of all of them.
  if (!key.starts_with(shared)) return key < shared ? 0 : blocks_.size() - 1;
  const uint64_t head = key_head(key.substr(shared_bytes_));
  const auto least = std::lower_bound(heads_.begin() + 1, heads_.end(), head);
  auto most = least;
  if (least != heads_.end() && *least == head) most = std::upper_bound(least, heads_.end(), head);
  // Heads that are equal say nothing.
  auto low = static_cast<size_t>(least - heads_.begin());
  auto high = static_cast<size_t>(most - heads_.begin());
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (before(separator(middle), key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

size_t TableIndex::find(Bytes key) const {
  return last_block(key, [](Bytes separator, Bytes k) { return separator <= k; });
}

size_t TableIndex::find_before(Bytes key) const {
  return last_block(key, [](Bytes separator, Bytes k) { return separator < k; });
}

size_t TableIndex::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) + bounds_.capacity() * sizeof(TimeBounds) +
         keys_.capacity() + heads_.capacity() * sizeof(uint64_t);
}

}  // namespace cellar::engine
