#include "engine/repair/table_salvage.h"

#include <algorithm>

#include "engine/model/key.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/index_parts.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_reader.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

// The row of a key, or of its prefix. Sets `whole` if the row ends in it.
std::string row_in(Bytes separator, bool& whole) {
  std::string row;
  whole = false;
  for (size_t i = 0; i < separator.size(); ++i) {
    if (separator[i] != '\0') {
      row += separator[i];
      continue;
    }
    if (i + 1 == separator.size()) break;  // cut in the middle of an escape or a terminator
    whole = static_cast<uint8_t>(separator[i + 1]) == 0x01;
    if (whole) break;
    row += separator[i++];
  }
  return row;
}

}  // namespace

std::string first_row_at(Bytes separator) {
  bool whole = false;
  return row_in(separator, whole);
}

std::string row_end_before(Bytes separator) {
  bool whole = false;
  std::string row = row_in(separator, whole);
  if (whole || separator.ends_with('\0')) row += '\0';
  return row;
}

KeyRange rows_of(const TableMeta& meta) {
  if (meta.smallest_key.empty()) return {};
  return {first_row_at(meta.smallest_key), row_end_before(meta.largest_key)};
}

void TableSalvage::note(std::string damage) {
  if (damage_.empty()) damage_ = std::move(damage);
}

Async<Result<std::string>> TableSalvage::read(uint64_t offset, size_t size) {
  if (offset > blob_.size() || size > blob_.size() - offset || size > kMaxBlockBytes) {
    co_return fail(Errc::data_loss, "{} bytes at {} are past the end", size, offset);
  }
  const bool held = offset >= window_at_ && offset + size <= window_at_ + window_.size();
  if (!held) {
    const size_t wanted = offset < narrow_until_ ? size : std::max(size, kWindowBytes);
    const size_t bytes = std::min<uint64_t>(wanted, blob_.size() - offset);
    auto window = co_await read_blob(blob_, offset, bytes, IoClass::compaction);
    // A device error in the window need not be in this block.
    if (!window && bytes > size) {
      narrow_until_ = offset + bytes;
      window = co_await read_blob(blob_, offset, size, IoClass::compaction);
    }
    if (!window) co_return window;
    window_ = *std::move(window);
    window_at_ = offset;
  }
  co_return window_.substr(offset - window_at_, size);
}

Async<Result<std::string>> TableSalvage::block_at(BlockHandle handle) {
  CO_TRY(const std::string stored, co_await read(handle.offset, handle.size));
  co_return read_block(stored, blob_.id(), handle.offset, dictionary_);
}

Async<void> TableSalvage::open() {
  co_await open_tail();
  if (!damage_.empty()) co_return;
  const auto header = co_await read(0, kTableHeaderBytes);
  if (!header) {
    note(header.error().message);
  } else if (const auto ok = check_table_header(*header, blob_.id()); !ok) {
    note(ok.error().message);
  }
  co_await open_meta();
  co_await open_index();
  if (!readable_) co_return;
  co_await open_ranges();
  co_await check_filter(footer_.filter);
  if (meta_) co_await check_filter(meta_->column_filter);
  for (const IndexSection& section : sections_) co_await check_section(section);
}

Async<void> TableSalvage::open_tail() {
  if (blob_.size() < kTableHeaderBytes + kTableFooterBytes) {
    note(fmt::format("{} bytes are too few for a table", blob_.size()));
    co_return;
  }
  const auto footer = co_await read(blob_.size() - kTableFooterBytes, kTableFooterBytes);
  if (!footer) {
    note(footer.error().message);
    co_return;
  }
  const auto decoded = decode_table_footer(*footer, blob_.id(), blob_.size());
  if (!decoded) {
    note(decoded.error().message);
    co_return;
  }
  footer_ = *decoded;
  data_end_ = footer_.index.offset;
  for (const BlockHandle& h : {footer_.meta, footer_.ranges, footer_.filter}) {
    if (h.size != 0) data_end_ = h.offset;
  }
}

Async<Result<TableMeta>> TableSalvage::read_meta() {
  CO_TRY(const std::string contents, co_await block_at(footer_.meta));
  CO_TRY(TableMeta meta, decode_table_meta(contents));
  if (meta.blob == blob_.id()) co_return meta;
  co_return fail(Errc::data_loss, "its meta is about blob {:016x}", meta.blob.value());
}

Async<void> TableSalvage::open_meta() {
  auto meta = co_await read_meta();
  if (meta) {
    meta_ = *std::move(meta);
  } else {
    note(meta.error().message);
    meta_ = known_;
  }
  if (!meta_) co_return;
  meta_->file_bytes = blob_.size();
  place_sections();
  if (meta_->dictionary.size == 0) co_return;
  if (footer_.filter.size == 0 && footer_.ranges.size == 0) {
    data_end_ = std::min(data_end_, meta_->dictionary.offset);
  }
  auto dictionary = co_await block_at(meta_->dictionary);
  if (!dictionary) {
    note(dictionary.error().message);
    co_return;
  }
  dictionary_ = *std::move(dictionary);
}

// They lie between the data, with the parts of the index, and everything else.
void TableSalvage::place_sections() {
  for (const IndexSection& section : meta_->sections) {
    if (section.root.size == 0) continue;
    if (section.offset < kTableHeaderBytes || section.root.end() > data_end_) {
      note(fmt::format("the section of index {} lies outside of the table", section.index));
    } else {
      sections_.push_back(section);
    }
  }
  for (const IndexSection& section : sections_) data_end_ = std::min(data_end_, section.offset);
}

Async<void> TableSalvage::check_section(const IndexSection& section) {
  uint32_t checksum = 0;
  for (uint64_t at = section.offset; at < section.root.end();) {
    const size_t size = std::min<uint64_t>(kSectionPieceBytes, section.root.end() - at);
    const auto piece = co_await read(at, size);
    if (!piece) {
      note(piece.error().message);
      co_return;
    }
    checksum = crc32c(*piece, checksum);
    at += size;
  }
  if (checksum == section.checksum) co_return;
  note(fmt::format("the section of index {} at {} is damaged", section.index, section.offset));
}

Async<void> TableSalvage::open_ranges() {
  if (footer_.ranges.size == 0) co_return;
  const auto contents = co_await block_at(footer_.ranges);
  ranges_lost_ = !contents || !decode_ranges(*contents, ranges_);
  if (!ranges_lost_) co_return;
  ranges_.clear();
  note(contents ? std::string("its range deletes are malformed") : contents.error().message);
}

Async<void> TableSalvage::check_filter(BlockHandle handle) {
  if (handle.size == 0) co_return;
  const auto contents = co_await block_at(handle);
  Filter filter;
  if (contents && filter.open(*contents)) co_return;
  note(contents ? std::string("a filter is malformed") : contents.error().message);
}

Async<void> TableSalvage::open_index() {
  auto contents = co_await block_at(footer_.index);
  if (!contents) {
    note(contents.error().message);
    co_return;
  }
  if (footer_.index_in_parts) {
    co_await open_parts(*std::move(contents));
    co_return;
  }
  TableIndex index;
  if (!index.open(*contents, data_end_)) {
    note("its index is malformed");
    co_return;
  }
  readable_ = true;
  for (size_t i = 0; i < index.blocks(); ++i) {
    places_.push_back({.separator = std::string(index.separator(i)),
                       .handle = index.handle(i),
                       .raw_bytes = index.raw_bytes(i)});
  }
}

Async<void> TableSalvage::open_parts(std::string contents) {
  const auto inner = TopLevelIndex::inner(contents, data_end_);
  TableIndex index;
  TopLevelIndex top;
  if (!inner || !index.open(inner->index, inner->data_end) ||
      !top.open(contents, index, data_end_)) {
    note("its top-level index is malformed");
    co_return;
  }
  readable_ = true;
  for (size_t n = 0; n < top.parts(); ++n) {
    const auto stored = co_await block_at(top.handle(n));
    IndexPartition part;
    if (!stored || !part.open(*stored, index.raw_bytes(n), index.handle(n).offset)) {
      note(stored ? fmt::format("part {} of its index is malformed", n) : stored.error().message);
      places_.push_back({.separator = std::string(index.separator(n)),
                         .handle = index.handle(n),
                         .lost = true,
                         .blocks = index.raw_bytes(n)});
      continue;
    }
    for (size_t i = 0; i < part.blocks(); ++i) {
      std::string separator(index.separator(n));
      if (i > 0) separator.assign(part.prefix()).append(part.separator_rest(i));
      places_.push_back({.separator = std::move(separator),
                         .handle = part.handle(i),
                         .raw_bytes = part.raw_bytes(i)});
    }
  }
}

Async<bool> TableSalvage::next_block() {
  while (next_ < places_.size()) {
    const size_t at = next_++;
    const Place& place = places_[at];
    Result<void> taken;
    if (place.lost) {
      lose(at);
      continue;
    }
    auto contents = co_await block_at(place.handle);
    if (contents) {
      contents_ = *std::move(contents);
      taken = take_entries(place);
    } else {
      taken = std::unexpected(contents.error());
    }
    if (taken) co_return true;
    note(taken.error().message);
    lose(at);
  }
  entries_.clear();
  co_return false;
}

// All entries of the block or none.
Result<void> TableSalvage::take_entries(const Place& place) {
  entries_.clear();
  const auto malformed = [&] {
    entries_.clear();
    return fail(Errc::data_loss, "{} is malformed", block_name(blob_.id(), place.handle.offset));
  };
  BlockReader reader;
  if (contents_.size() != place.raw_bytes || !reader.open(contents_)) return malformed();
  BlockReader::Move move = reader.seek_first();
  for (; move == BlockReader::Move::ready; move = reader.next()) {
    const Bytes previous = entries_.empty() ? Bytes(last_key_) : Bytes(entries_.back().key);
    ParsedKey parsed;
    CellValue value;
    const bool sound = parse_key(reader.key(), parsed) &&
                       (previous.empty() || reader.key() > previous) &&
                       (parsed.kind != EntryKind::cell || parse_cell_value(reader.value(), value));
    if (!sound) return malformed();
    entries_.push_back({std::string(reader.key()), reader.value()});
  }
  if (move == BlockReader::Move::corrupt || entries_.empty()) return malformed();
  last_key_ = entries_.back().key;
  return {};
}

void TableSalvage::lose(size_t at) {
  const Place& place = places_[at];
  lost_blocks_ += place.blocks;
  lost_bytes_ += place.handle.size;
  const bool last = at + 1 == places_.size();
  KeyRange rows;
  rows.start = first_row_at(place.separator);
  if (at == 0 && meta_) rows.start = first_row_at(meta_->smallest_key);
  if (!last) rows.end = row_end_before(places_[at + 1].separator);
  if (last && meta_) rows.end = row_end_before(meta_->largest_key);
  const bool joined = last_lost_ != SIZE_MAX && last_lost_ + 1 == at;
  if (joined || lost_rows_.size() >= kMostRanges) {
    lost_rows_.back().end = rows.end;
  } else {
    lost_rows_.push_back(std::move(rows));
  }
  last_lost_ = at;
}

}  // namespace cellar::engine
