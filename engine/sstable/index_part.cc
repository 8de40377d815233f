#include "engine/sstable/index_part.h"

#include <algorithm>

#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {

bool IndexPart::open(Bytes contents, size_t blocks, uint64_t data_offset) {
  *this = IndexPart();
  Reader in(contents);
  const size_t count = in.u32();
  const size_t prefix_bytes = in.u32();
  const size_t row_bytes = in.u32();
  const size_t column_bytes = in.u32();
  if (count == 0 || count != blocks) return false;
  const Bytes columns = in.take(count * kColumns * sizeof(uint32_t));
  prefix_ = in.take(prefix_bytes);
  if (!in.ok() || row_bytes + column_bytes > in.remaining()) return false;
  texts_ = in.take(in.remaining() - row_bytes - column_bytes);
  row_filter_ = in.take(row_bytes);
  column_filter_ = in.take(column_bytes);
  columns_ = columns.data();
  blocks_ = count;
  data_offset_ = data_offset;
  return true;
}

// Safe for all values of begin and end.
Bytes IndexPart::text(size_t begin, size_t end) const {
  if (begin > end || end > texts_.size()) return {};
  return texts_.substr(begin, end - begin);
}

Bytes IndexPart::separator_rest(size_t i) const { return text(text_begin(i), number(kKeyEnd, i)); }

BlockHandle IndexPart::handle(size_t i) const {
  const uint32_t begin = i == 0 ? 0 : number(kEnd, i - 1);
  const uint32_t end = number(kEnd, i);
  if (end <= begin || end - begin <= kBlockTrailerBytes) return {data_offset_ + begin, 0};
  return {data_offset_ + begin, end - begin};
}

TimeBounds IndexPart::bounds(size_t i) const {
  Reader in(text(number(kKeyEnd, i), number(kTextEnd, i)));
  TimeBounds bounds;
  return decode_time_bounds(in, bounds) ? bounds : TimeBounds::unknown();
}

// Shorter bytes are padded with zeros: unequal heads decide, equal heads do not.
uint32_t IndexPart::head_of(Bytes rest) {
  char padded[kHeadBytes] = {};
  rest.copy(padded, kHeadBytes);
  return std::byteswap(load_le<uint32_t>(padded));
}

// The last block whose separator is <= key, or < key with `before`; 0 if there is none.
size_t IndexPart::find_by(Bytes key, bool before) const {
  const Bytes head = key.substr(0, prefix_.size());
  if (head != prefix_) {
    // A key that is a proper prefix of `prefix_` sorts before all keys with that prefix.
    return head < prefix_ ? 0 : blocks_ - 1;
  }
  const Bytes rest = key.substr(prefix_.size());
  const uint32_t wanted = head_of(rest);
  size_t low = 1;  // earlier blocks have separators at or before the key
  size_t high = blocks_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t there = number(kHead, middle);
    bool passed = there < wanted;
    if (there == wanted) {
      const Bytes separator = separator_rest(middle);
      passed = before ? separator < rest : separator <= rest;
    }
    if (passed) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

Bytes IndexPartBuilder::separator(size_t i) const {
  const size_t begin = i == 0 ? 0 : blocks_[i - 1].separator_end;
  return Bytes(separators_).substr(begin, blocks_[i].separator_end - begin);
}

void IndexPartBuilder::add(Bytes separator, uint32_t stored_bytes, uint32_t raw_bytes,
                           const TimeBounds& bounds) {
  if (!blocks_.empty()) separators_.append(separator);
  encode_time_bounds(bounds_, bounds);
  data_bytes_ += stored_bytes;
  CHECK(data_bytes_ <= UINT32_MAX, "a part of {} bytes of data", data_bytes_);
  blocks_.push_back({static_cast<uint32_t>(data_bytes_), raw_bytes,
                     static_cast<uint32_t>(separators_.size()),
                     static_cast<uint32_t>(bounds_.size())});
}

size_t IndexPartBuilder::bytes() const {
  return IndexPart::kHeaderBytes + blocks_.size() * IndexPart::kColumns * sizeof(uint32_t) +
         separators_.size() + bounds_.size();
}

void IndexPartBuilder::finish(std::string& out, Bytes row_filter, Bytes column_filter) {
  const size_t blocks = blocks_.size();
  std::string prefix;
  if (blocks > 1) {
    const Bytes first = separator(1);
    prefix.assign(first.substr(0, common_prefix(first, separator(blocks - 1))));
  }
  put_u32(out, static_cast<uint32_t>(blocks));
  put_u32(out, static_cast<uint32_t>(prefix.size()));
  put_u32(out, static_cast<uint32_t>(row_filter.size()));
  put_u32(out, static_cast<uint32_t>(column_filter.size()));
  const auto rest = [&](size_t i) { return i == 0 ? Bytes() : separator(i).substr(prefix.size()); };
  for (size_t i = 0; i < blocks; ++i) put_u32(out, IndexPart::head_of(rest(i)));
  for (const Block& block : blocks_) put_u32(out, block.end);
  for (const Block& block : blocks_) put_u32(out, block.raw_bytes);
  std::string texts;
  std::string text_ends;
  for (size_t i = 0, bounds_begin = 0; i < blocks; ++i) {
    texts.append(rest(i));
    put_u32(out, static_cast<uint32_t>(texts.size()));
    texts.append(bounds_, bounds_begin, blocks_[i].bounds_end - bounds_begin);
    bounds_begin = blocks_[i].bounds_end;
    put_u32(text_ends, static_cast<uint32_t>(texts.size()));
  }
  out += text_ends;
  out += prefix;
  out += texts;
  out += row_filter;
  out += column_filter;
  *this = IndexPartBuilder();
}

}  // namespace cellar::engine
