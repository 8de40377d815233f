#include "engine/sstable/table_index.h"

#include <algorithm>

#include "engine/iter/key_head.h"

namespace cellar::engine {
namespace {

constexpr size_t kHeadsALine = 8;  // of the processor's cache

}  // namespace

void TableIndexBuilder::add(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                            const TimeBounds& bounds) {
  const Bytes separator = count_ == 0 ? Bytes() : first.substr(0, common_prefix(before, first) + 1);
  const size_t shared = common_prefix(last_separator_, separator);
  if (pieces_.empty() || pieces_.back().size() >= kPieceBytes) pieces_.emplace_back();
  std::string& out = pieces_.back();
  const size_t began = out.size();
  put_varint(out, shared);
  put_bytes(out, separator.substr(shared));
  put_varint(out, stored_bytes);
  put_varint(out, raw_bytes);
  encode_time_bounds(out, bounds);
  entry_bytes_ += out.size() - began;
  last_separator_.assign(separator);
  ++count_;
}

std::string TableIndexBuilder::head() const {
  std::string out;
  put_varint(out, count_);
  return out;
}

std::string TableIndexBuilder::finish() const {
  std::string out = head();
  for (const std::string& piece : pieces_) out += piece;
  return out;
}

TableIndexOpener::TableIndexOpener(TableIndex& index, Bytes contents, uint64_t data_end)
    : index_(index), in_(contents), data_end_(data_end), count_(in_.varint()) {
  bad_ = count_ > contents.size() / TableIndex::kLeastEntryBytes;
  if (bad_) return;
  // Reserves at once, because growing vectors are copied.
  index_.blocks_.reserve(count_);
  index_.texts_.reserve(contents.size() + contents.size() / kSpareShare);
  index_.heads_.reserve(count_);
  index_.tops_.reserve(count_ / TableIndex::kHeadsATop + 1);
}

bool TableIndexOpener::step() {
  for (size_t i = 0; i < kBlocksAStep && !bad_ && index_.blocks_.size() < count_; ++i) {
    bad_ = !add_block();
  }
  if (bad_) return true;
  if (index_.blocks_.size() < count_) return false;
  if (index_.heads_.empty()) bad_ = !in_.ok() || !in_.at_end();
  return bad_ || index_.add_heads(kBlocksAStep);
}

bool TableIndexOpener::add_block() {
  const uint64_t shared = in_.varint();
  const Bytes tail = in_.bytes();
  const uint64_t size = in_.varint();
  const uint64_t raw = in_.varint();
  const Bytes rest = in_.rest();
  TimeBounds bounds;
  if (!decode_time_bounds(in_, bounds) || shared > separator_.size()) return false;
  const Bytes encoded = rest.substr(0, rest.size() - in_.remaining());
  if (size <= kBlockTrailerBytes || size > data_end_ - offset_ || raw > kMaxBlockBytes) {
    return false;
  }
  std::string key = separator_.substr(0, shared).append(tail);
  std::string& texts = index_.texts_;
  if (!index_.blocks_.empty() && key <= separator_) return false;
  if (texts.size() + key.size() + encoded.size() > UINT32_MAX) return false;
  index_.blocks_.push_back({offset_, static_cast<uint32_t>(size), static_cast<uint32_t>(raw),
                            static_cast<uint32_t>(texts.size()),
                            static_cast<uint32_t>(key.size())});
  index_.most_raw_bytes_ = std::max(index_.most_raw_bytes_, static_cast<uint32_t>(raw));
  texts.append(key);
  texts.append(encoded);
  separator_ = std::move(key);
  offset_ += size;
  return true;
}

bool TableIndex::open(Bytes contents, uint64_t data_end) {
  TableIndexOpener opener(*this, contents, data_end);
  while (!opener.step()) {
  }
  return opener.ok();
}

void TableIndex::open_lost() {
  blocks_.push_back({kTableHeaderBytes, 0, 0, 0, 0});
  encode_time_bounds(texts_, TimeBounds::unknown());
  heads_.push_back(0);
}

bool TableIndex::add_heads(size_t most) {
  if (heads_.empty() && !blocks_.empty()) heads_.push_back(0);
  if (blocks_.size() < 2) return true;
  if (heads_.size() == 1)
    shared_bytes_ = common_prefix(separator(1), separator(blocks_.size() - 1));
  for (size_t end = std::min(heads_.size() + most, blocks_.size()); heads_.size() < end;) {
    const uint64_t head = key_head(separator(heads_.size()).substr(shared_bytes_));
    if (heads_.size() % kHeadsATop == 0) tops_.push_back(head);
    heads_.push_back(head);
  }
  return heads_.size() == blocks_.size();
}

// The first of the heads that are not less than `head` is one of [first, last), or it is `last`.
std::pair<size_t, size_t> TableIndex::group_of(uint64_t head) const {
  const auto top = std::ranges::lower_bound(tops_, head) - tops_.begin();
  const auto first = static_cast<size_t>(top) * kHeadsATop;
  return {std::max<size_t>(first, 1), std::min(first + kHeadsATop, heads_.size())};
}

void TableIndex::expect(Bytes key) const {
  if (blocks_.size() < 2 || key.size() < shared_bytes_) return;
  const auto [first, last] = group_of(key_head(key.substr(shared_bytes_)));
  for (size_t i = first; i < last; i += kHeadsALine) __builtin_prefetch(&heads_[i]);
  __builtin_prefetch(&heads_[last - 1]);  // the heads are not aligned to lines
}

template <class Before>
size_t TableIndex::last_block(Bytes key, Before before) const {
  if (blocks_.size() < 2) return 0;
  const Bytes shared = separator(1).substr(0, shared_bytes_);
  // A key without the common prefix sorts before or after all separators.
  if (!key.starts_with(shared)) return key < shared ? 0 : blocks_.size() - 1;
  const uint64_t head = key_head(key.substr(shared_bytes_));
  const auto [first, last] = group_of(head);
  const auto at = [this](size_t i) { return heads_.begin() + static_cast<ptrdiff_t>(i); };
  const auto least = std::lower_bound(at(first), at(last), head);
  auto most = least;
  if (least != heads_.end() && *least == head) most = std::upper_bound(least, heads_.end(), head);
  // Equal heads do not decide.
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

TimeBounds TableIndex::bounds(size_t i) const {
  const size_t begin = blocks_[i].key_offset + size_t{blocks_[i].key_bytes};
  const size_t end = i + 1 < blocks_.size() ? blocks_[i + 1].key_offset : texts_.size();
  Reader in(Bytes(texts_).substr(begin, end - begin));
  TimeBounds bounds;
  if (!decode_time_bounds(in, bounds)) return TimeBounds::unknown();  // open() has checked this
  return bounds;
}

size_t TableIndex::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) + texts_.size() +
         (heads_.capacity() + tops_.capacity()) * sizeof(uint64_t);
}

}  // namespace cellar::engine
