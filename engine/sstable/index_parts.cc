#include "engine/sstable/index_parts.h"

#include <algorithm>

#include "engine/iter/row_order.h"
#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {

bool IndexPartition::open(Bytes contents, size_t blocks, uint64_t data_offset) {
  *this = IndexPartition();
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
Bytes IndexPartition::text(size_t begin, size_t end) const {
  if (begin > end || end > texts_.size()) return {};
  return texts_.substr(begin, end - begin);
}

Bytes IndexPartition::separator_rest(size_t i) const {
  return text(text_begin(i), number(kKeyEnd, i));
}

BlockHandle IndexPartition::handle(size_t i) const {
  const uint32_t begin = i == 0 ? 0 : number(kEnd, i - 1);
  const uint32_t end = number(kEnd, i);
  if (end <= begin || end - begin <= kBlockTrailerBytes) return {data_offset_ + begin, 0};
  return {data_offset_ + begin, end - begin};
}

TimeBounds IndexPartition::bounds(size_t i) const {
  Reader in(text(number(kKeyEnd, i), number(kTextEnd, i)));
  TimeBounds bounds;
  return decode_time_bounds(in, bounds) ? bounds : TimeBounds::unknown();
}

// Shorter bytes are padded with zeros: unequal heads decide, equal heads do not.
uint32_t IndexPartition::head_of(Bytes rest) {
  char padded[kHeadBytes] = {};
  rest.copy(padded, kHeadBytes);
  return std::byteswap(load_le<uint32_t>(padded));
}

// The last block whose separator is <= key, or < key with `before`; 0 if there is none.
size_t IndexPartition::find_by(Bytes key, bool before) const {
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

Bytes IndexPartitionBuilder::separator(size_t i) const {
  const size_t begin = i == 0 ? 0 : blocks_[i - 1].separator_end;
  return Bytes(separators_).substr(begin, blocks_[i].separator_end - begin);
}

void IndexPartitionBuilder::add(Bytes separator, uint32_t stored_bytes, uint32_t raw_bytes,
                                const TimeBounds& bounds) {
  if (!blocks_.empty()) separators_.append(separator);
  encode_time_bounds(bounds_, bounds);
  data_bytes_ += stored_bytes;
  CHECK(data_bytes_ <= UINT32_MAX, "a part of {} bytes of data", data_bytes_);
  blocks_.push_back({static_cast<uint32_t>(data_bytes_), raw_bytes,
                     static_cast<uint32_t>(separators_.size()),
                     static_cast<uint32_t>(bounds_.size())});
}

size_t IndexPartitionBuilder::bytes() const {
  return IndexPartition::kHeaderBytes +
         blocks_.size() * IndexPartition::kColumns * sizeof(uint32_t) + separators_.size() +
         bounds_.size();
}

void IndexPartitionBuilder::finish(std::string& out, Bytes row_filter, Bytes column_filter) {
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
  for (size_t i = 0; i < blocks; ++i) put_u32(out, IndexPartition::head_of(rest(i)));
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
  *this = IndexPartitionBuilder();
}

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

PartsWriter::PartsWriter(size_t part_bytes, uint32_t filter_bits)
    : part_bytes_(part_bytes),
      filter_bits_(filter_bits),
      columns_(filter_bits > 0),
      columns_pay_(filter_bits > 0) {}

void PartsWriter::add_row(uint64_t row_hash, bool new_row) {
  part_begins_ = false;
  ++rows_in_part_;
  if (filter_bits_ > 0) rows_.add(row_hash);
  if (new_row && filter_bits_ > 0 && TopLevelIndex::is_sampled(row_hash)) sample_.add(row_hash);
}

bool PartsWriter::is_full() const {
  const size_t keys = rows_.rows() + (columns_.pay(rows_in_part_) ? columns_.keys().rows() : 0);
  return part_.bytes() + keys * filter_bits_ / 8 >= part_bytes_ ||
         part_.data_bytes() >= kMostDataBytes;
}

void PartsWriter::add_block(Bytes before, Bytes first, uint32_t stored_bytes, uint32_t raw_bytes,
                            const TimeBounds& bounds) {
  if (part_.blocks() == 0) {
    before_.assign(before);
    first_.assign(first);
  }
  part_.add(first.substr(0, common_prefix(before, first) + 1), stored_bytes, raw_bytes, bounds);
  bounds_.merge(bounds);
  most_raw_bytes_ = std::max(most_raw_bytes_, raw_bytes);
  if (is_full()) end_part();
}

void PartsWriter::end_part() {
  top_index_.add(before_, first_, static_cast<uint32_t>(part_.data_bytes()),
                 static_cast<uint32_t>(part_.blocks()), bounds_);
  std::string& out = parts_.emplace_back();
  columns_pay_ = columns_pay_ && columns_.pay(rows_in_part_);
  const std::string rows = filter_bits_ > 0 ? rows_.finish(filter_bits_) : std::string();
  const std::string columns = columns_pay_ ? columns_.keys().finish(filter_bits_) : std::string();
  part_.finish(out, rows, columns);
  bytes_ += out.size();
  rows_ = FilterBuilder();
  columns_ = ColumnKeys(columns_pay_);
  rows_in_part_ = 0;
  part_begins_ = true;
  bounds_ = TimeBounds();
}

void PartsWriter::finish() {
  if (part_.blocks() > 0) end_part();
}

std::string PartsWriter::top_index(const std::vector<uint32_t>& stored_sizes) {
  CHECK(stored_sizes.size() == parts_.size());
  std::string out;
  put_bytes(out, top_index_.finish());
  put_varint(out, most_raw_bytes_);
  put_bytes(out, filter_bits_ > 0 ? sample_.finish(filter_bits_) : std::string());
  for (const uint32_t size : stored_sizes) put_varint(out, size);
  return out;
}

}  // namespace cellar::engine
