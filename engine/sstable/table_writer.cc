#include "engine/sstable/table_writer.h"

#include <algorithm>

#include "engine/sstable/index_section.h"
#include "io/base/check.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// A longer index is not compressed, because that cannot be done in pieces.
constexpr size_t kMostPackedIndexBytes = 128 * 1024;  // takes about a tenth of a millisecond

// Index entries written between two looks at the clock: some 10 us.
constexpr size_t kEntriesPerLook = 64;

// Yields.
Async<void> yield_or_begin(Background::Work* work) {
  if (work == nullptr) {
    co_await yield_now();
  } else if (work->over()) {
    co_await work->begin();
  }
}

}  // namespace

TableWriter::TableWriter(TableWriterOptions options, std::unique_ptr<BlobWriter> out)
    : options_(std::move(options)),
      out_(std::move(out)),
      packer_(options_.compression),
      columns_(options_.filter_bits_per_row > 0 && options_.part_bytes == 0),
      index_maker_(options_.indexes) {
  if (options_.indexes != nullptr) {
    sections_.resize(options_.indexes->size());
    for (size_t i = 0; i < sections_.size(); ++i) {
      sections_[i].facts.index = (*options_.indexes)[i].id;
    }
  }
  if (options_.part_bytes > 0) {
    parts_ = std::make_unique<PartsWriter>(options_.part_bytes, options_.filter_bits_per_row);
  }
  meta_.blob = options_.blob;
  meta_.table = options_.table;
  meta_.tablet = options_.tablet;
  meta_.tablet_start = options_.tablet_start;
  meta_.tablet_end = options_.tablet_end;
  meta_.run = options_.run;
  meta_.gc_watermark = options_.gc_watermark;
  meta_.block_bytes = options_.block_bytes;
  meta_.columns = ColumnList();
  meta_.compression = options_.compression;
  pending_ = encode_table_header(options_.blob);
  offset_ = pending_.size();
}

void TableWriter::add(Bytes key, Bytes value) {
  CHECK(meta_.entries == 0 || last_key_ < key, "key {} after {}", escape_bytes(key),
        escape_bytes(last_key_));
  ParsedKey parsed;
  CHECK(parse_key(key, parsed), "malformed key {}", escape_bytes(key));
  // A block that would exceed its target size is cut before this entry, so that small entries do
  // not share a block with a large one.
  if (!block_.empty() && block_.bytes() + key.size() + value.size() > options_.block_bytes) {
    cut_block();
  }
  if (block_.empty()) block_first_key_.assign(key);
  note(parsed, key, value);
  block_.add(key, value);
  last_key_.assign(key);
  last_row_bytes_ = parsed.row_prefix.size();
}

void TableWriter::note(const ParsedKey& parsed, Bytes key, Bytes value) {
  const bool new_row = Bytes(last_key_).substr(0, last_row_bytes_) != parsed.row_prefix;
  if (new_row || (parts_ && parts_->begins())) {
    const uint64_t hash = row_hash(parsed.row_prefix);
    if (parts_) parts_->add_row(hash, new_row);
    if (new_row) {
      ++meta_.rows;
      if (!parts_) filter_.add(hash);
      profile_.add_row(hash);
    }
  }
  if (parts_) {
    parts_->add_column(parsed);
  } else {
    columns_.add(parsed, meta_.rows);
  }
  if (meta_.entries == 0) meta_.smallest_key.assign(key);
  ++meta_.entries;
  meta_.key_bytes += key.size();
  meta_.value_bytes += value.size();
  meta_.min_stamp = std::min(meta_.min_stamp, parsed.stamp);
  meta_.max_stamp = std::max(meta_.max_stamp, parsed.stamp);
  block_bounds_.add_entry(parsed, value);
  switch (parsed.kind) {
    case EntryKind::cell:
      ++meta_.cells;
      profile_.add_cell(parsed, value, key.size() + value.size());
      if (!sections_.empty()) note_index_entries(parsed, value);
      meta_.columns.add_entry(parsed);
      break;
    case EntryKind::row_delete:
      ++meta_.row_deletes;
      break;
    case EntryKind::family_delete:
      ++meta_.family_deletes;
      break;
    case EntryKind::column_delete:
      ++meta_.column_deletes;
      break;
    case EntryKind::token:
      break;
  }
}

void TableWriter::note_index_entries(const ParsedKey& cell, Bytes value) {
  const auto give = [&](size_t index, Bytes key, Bytes entry_value) {
    add_index_entry(index, cell.timestamp_us, key, entry_value);
  };
  index_maker_.make(cell, value, give, [this](size_t index) { ++sections_[index].facts.skipped; });
}

void TableWriter::add_index_entry(size_t index, int64_t timestamp_us, Bytes key, Bytes value) {
  Section& section = sections_[index];
  const auto& age_us = (*options_.indexes)[index].max_age_us;
  if (age_us && saturating_add(timestamp_us, *age_us) < options_.now_us) {
    section.facts.omitted_to_us = std::max(section.facts.omitted_to_us, timestamp_us);
    return;
  }
  section.facts.oldest_us = std::min(section.facts.oldest_us, timestamp_us);
  section.facts.newest_us = std::max(section.facts.newest_us, timestamp_us);
  const size_t before = section.entries.bytes();
  section.entries.add(key, value);
  entry_bytes_ += section.entries.bytes() - before;
}

Async<Result<void>> TableWriter::write_section(Section& section, Background::Work* work) {
  SectionWriter writer({.blob = options_.blob,
                        .compress = options_.compression != Compression::none,
                        .block_bytes = options_.block_bytes},
                       pending_, offset_);
  section.entries.sort();
  for (size_t written = 1; section.entries.next(); ++written) {
    writer.add(section.entries.key(), section.entries.value());
    if (written % kEntriesPerLook != 0) continue;
    if (wants_flush()) {
      if (work != nullptr) work->end();
      CO_TRY_VOID(co_await flush());
      if (work != nullptr) co_await work->begin();
    } else {
      co_await yield_or_begin(work);
    }
  }
  const IndexSection tree = writer.finish();
  section.facts.root = tree.root;
  section.facts.levels = tree.levels;
  section.facts.offset = tree.offset;
  section.facts.entries = tree.entries;
  section.facts.checksum = tree.checksum;
  section.entries = EntrySorter();  // frees its memory
  co_return Result<void>{};
}

Async<Result<void>> TableWriter::write_sections(Background::Work* work) {
  for (Section& section : sections_) {
    CO_TRY_VOID(co_await write_section(section, work));
    meta_.sections.push_back(section.facts);
  }
  co_return Result<void>{};
}

void TableWriter::add_range_delete(RangeTombstone range) {
  meta_.min_stamp = std::min(meta_.min_stamp, range.stamp);
  meta_.max_stamp = std::max(meta_.max_stamp, range.stamp);
  meta_.bounds.add_delete_of_everything();
  ranges_.push_back(std::move(range));
}

// Blocks of the tail are packed by LZ4 in every table.
BlockHandle TableWriter::append(Bytes raw) {
  const bool compress = options_.compression != Compression::none;
  BlockHandle handle;
  handle.offset = offset_;
  handle.size = append_block(pending_, raw, compress, options_.blob, offset_);
  offset_ += handle.size;
  return handle;
}

void TableWriter::cut_block() {
  const Bytes raw = block_.finish();
  const uint32_t size = packer_.append(pending_, raw, options_.blob, offset_);
  offset_ += size;
  const auto raw_bytes = static_cast<uint32_t>(raw.size());
  if (parts_) {
    parts_->add_block(previous_last_key_, block_first_key_, size, raw_bytes, block_bounds_);
  } else {
    index_.add(previous_last_key_, block_first_key_, size, raw_bytes, block_bounds_);
  }
  meta_.data_bytes += size;
  ++meta_.blocks;
  meta_.bounds.merge(block_bounds_);
  previous_last_key_ = last_key_;
  block_bounds_ = TimeBounds();
  block_.reset();
}

Async<void> TableWriter::append_raw(Bytes contents, Background::Work* work, BlockHandle& handle) {
  RawBlockAppender block(pending_, contents.size(), options_.blob, offset_);
  for (size_t at = 0; at < contents.size(); at += RawBlockAppender::kPieceBytes) {
    block.add(contents.substr(at, RawBlockAppender::kPieceBytes));
    co_await yield_or_begin(work);
  }
  handle = {offset_, block.finish()};
  offset_ += handle.size;
}

Async<void> TableWriter::append_filter(FilterBuilder& filter, Background::Work* work,
                                       BlockHandle& handle) {
  filter.begin(options_.filter_bits_per_row);
  while (!filter.step()) co_await yield_or_begin(work);
  co_await append_raw(filter.contents(), work, handle);
}

Async<void> TableWriter::append_filters(Background::Work* work, TableFooter& footer) {
  if (options_.filter_bits_per_row > 0) co_await append_filter(filter_, work, footer.filter);
  if (columns_.pay(meta_.rows)) {
    co_await append_filter(columns_.keys(), work, meta_.column_filter);
  }
}

Async<void> TableWriter::append_index(Background::Work* work, BlockHandle& handle) {
  if (index_.bytes() <= kMostPackedIndexBytes) {
    handle = append(index_.finish());
    co_return;
  }
  RawBlockAppender block(pending_, index_.bytes(), options_.blob, offset_);
  block.add(index_.head());
  for (const std::string& piece : index_.pieces()) {
    block.add(piece);
    co_await yield_or_begin(work);
  }
  handle = {offset_, block.finish()};
  offset_ += handle.size;
}

// Uncompressed, because they are searched in place.
Async<void> TableWriter::append_parts(Background::Work* work, std::vector<uint32_t>& sizes) {
  parts_->finish();
  for (const std::string& part : parts_->parts()) {
    sizes.push_back(append_block(pending_, part, false, options_.blob, offset_));
    offset_ += sizes.back();
    co_await yield_or_begin(work);
  }
}

// Writes everything after the data blocks, parts and sections.
Async<void> TableWriter::append_tail(Background::Work* work,
                                     const std::vector<uint32_t>& part_sizes) {
  meta_.largest_key = last_key_;
  meta_.range_deletes = ranges_.size();
  meta_.profile = profile_.finish();
  TableFooter footer;
  footer.blob = options_.blob;
  footer.index_in_parts = parts_ != nullptr;
  if (!parts_) co_await append_filters(work, footer);
  if (!ranges_.empty()) {
    std::sort(ranges_.begin(), ranges_.end(), [](const RangeTombstone& a, const RangeTombstone& b) {
      return std::tie(a.start, a.end, b.stamp) < std::tie(b.start, b.end, a.stamp);
    });
    footer.ranges = append(encode_ranges(ranges_));
  }
  if (!packer_.dictionary().empty()) meta_.dictionary = append(packer_.dictionary());
  footer.meta = append(encode_table_meta(meta_));
  if (parts_) {
    const std::string top_index = parts_->top_index(part_sizes);
    if (top_index.size() <= kMostPackedIndexBytes) {
      footer.index = append(top_index);
    } else {
      co_await append_raw(top_index, work, footer.index);
    }
  } else {
    co_await append_index(work, footer.index);
  }
  pending_.append(encode_table_footer(footer, offset_));
  offset_ += kTableFooterBytes;
}

Async<Result<void>> TableWriter::flush() {
  if (pending_.empty()) co_return Result<void>();
  CO_TRY_VOID(co_await out_->append(pending_));
  pending_.clear();
  co_return Result<void>();
}

Async<Result<TableMeta>> TableWriter::finish(Background::Work* work) {
  if (work != nullptr) co_await work->begin();
  if (!block_.empty()) cut_block();
  std::vector<uint32_t> part_sizes;
  if (parts_) co_await append_parts(work, part_sizes);
  if (!sections_.empty()) CO_TRY_VOID(co_await write_sections(work));
  co_await append_tail(work, part_sizes);
  if (work != nullptr) work->end();
  CO_TRY_VOID(co_await flush());
  CO_TRY_VOID(co_await out_->seal());
  meta_.file_bytes = offset_;
  co_return meta_;
}

Async<Result<void>> TableWriter::abandon() { co_return co_await out_->abandon(); }

}  // namespace cellar::engine
