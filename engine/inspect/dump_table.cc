#include "engine/inspect/dump_table.h"

#include <optional>

#include "engine/inspect/dump_block.h"
#include "engine/inspect/dump_section.h"
#include "engine/iter/range_delete.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_parts.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/zstd_codec.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

std::string describe_bounds(const TimeBounds& b) {
  if (!b.known) return "times unknown";
  std::string out = "times";
  if (b.has_cells()) out += fmt::format(" {} to {}", b.min_timestamp_us, b.max_timestamp_us);
  if (b.latest_expiry_us != INT64_MIN) out += fmt::format(", expiry to {}", b.latest_expiry_us);
  if (b.any_without_expiry) out += ", some without expiry";
  if (b.has_tokens()) out += fmt::format(", tokens to {}", b.tokens_until_us);
  if (b.has_deletes()) {
    out += fmt::format(", deletes of {} to {}", b.delete_start_us, b.delete_end_us);
  }
  return out;
}

std::string describe_profile(const CellProfile& profile) {
  if (!profile.known) return "profile unknown";
  std::string out = "bytes";
  for (const CellProfile::Family& family : profile.families) {
    out += fmt::format(" {} of {}, {} of later versions;", family.bytes(), family.name,
                       family.bytes_from_rank(1));
  }
  return out + fmt::format(" {} with an expiry; {} sampled rows", profile.expiries.bytes(),
                           profile.row_sample.size());
}

std::string describe_columns(const ColumnList& columns) {
  if (!columns.known()) return "columns unknown";
  std::string out = "columns";
  columns.for_each([&out](Bytes column) {
    Bytes family;
    Bytes qualifier;
    std::string scratch;
    (void)split_column(column, family, qualifier, scratch);  // decoding has checked it
    out += fmt::format(" {}:{}", family, escape_bytes(qualifier));
  });
  return out;
}

std::string describe_section(const IndexSection& section) {
  std::string out = fmt::format("section of index {}: {} entries", section.index, section.entries);
  if (section.root.size != 0) {
    out +=
        fmt::format(" at {} to {}, in {} levels, {} bytes from {} on, root of {}, checksum {:08x}",
                    section.oldest_us, section.newest_us, section.levels, section.bytes(),
                    section.offset, section.root.size, section.checksum);
  }
  if (section.omitted_to_us != INT64_MIN)
    out += fmt::format("; those up to {} are left out", section.omitted_to_us);
  if (section.skipped != 0) out += fmt::format("; {} cells without an int64", section.skipped);
  return out;
}

// One file under inspection, with the state for checking later parts.
class TableDump : private BlockDump {
 public:
  TableDump(File& file, DumpOptions options, Dump& dump)
      : BlockDump(file, options, dump), problems_before_(dump.problems()) {}

  Async<Result<void>> run(std::optional<BlobId> blob) {
    CO_TRY(size_, co_await file_.size());
    if (size_ < kTableHeaderBytes + kTableFooterBytes) {
      dump_.problem(fmt::format("{} bytes are too few for a table", size_));
      co_return Result<void>();
    }
    CO_TRY_VOID(co_await read(size_ - kTableFooterBytes, kTableFooterBytes));
    const std::string footer = bytes_;
    blob_ = blob.value_or(BlobId{load_le<uint64_t>(footer.data() + 48)});
    CO_TRY_VOID(co_await read(0, kTableHeaderBytes));
    show_header();
    if (!show_footer(footer)) co_return Result<void>();
    CO_TRY_VOID(co_await load_meta());
    CO_TRY_VOID(co_await load_dictionary());
    place_sections();
    CO_TRY_VOID(co_await read(footer_.index.offset, footer_.index.size));
    if (footer_.index_in_parts) {
      show_top_index();
      for (size_t i = 0; i < top_index_.parts(); ++i) {
        CO_TRY_VOID(co_await read(top_index_.handle(i).offset, top_index_.handle(i).size));
        show_part(i);
      }
    } else {
      show_index();
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      CO_TRY_VOID(co_await read(blocks_[i].handle.offset, blocks_[i].handle.size));
      show_data_block(i);
    }
    CO_TRY_VOID(co_await show_sections());
    CO_TRY_VOID(co_await show_filter(footer_.filter, "filter"));
    CO_TRY_VOID(co_await show_filter(column_filter_, "filter over columns"));
    if (footer_.ranges.size != 0) {
      CO_TRY_VOID(co_await read(footer_.ranges.offset, footer_.ranges.size));
      show_ranges();
    }
    if (dictionary_at_.size != 0) {
      CO_TRY_VOID(co_await read(dictionary_at_.offset, dictionary_at_.size));
      show_dictionary();
    }
    CO_TRY_VOID(co_await read(footer_.meta.offset, footer_.meta.size));
    show_meta();
    co_return Result<void>();
  }

 private:
  // The meta block, which is shown later, has places and facts of other parts.
  Async<Result<void>> load_meta() {
    CO_TRY_VOID(co_await read(footer_.meta.offset, footer_.meta.size));
    const Result<std::string> contents = read_block(bytes_, blob_, footer_.meta.offset);
    if (!contents) co_return Result<void>();
    auto meta = decode_table_meta(*contents);
    if (!meta) co_return Result<void>();
    meta_ = *std::move(meta);
    column_filter_ = meta_->column_filter;
    in_table_ = options_.filter.wants_table(meta_->table.value());
    co_return Result<void>();
  }

  // Loads the dictionary before the blocks that need it. Its own problems are reported in its
  // section.
  Async<Result<void>> load_dictionary() {
    if (!meta_ || meta_->dictionary.size == 0) co_return Result<void>();
    const BlockHandle& at = meta_->dictionary;
    if (at.offset < kTableHeaderBytes || at.offset >= footer_.meta.offset ||
        at.size > footer_.meta.offset - at.offset) {
      dump_.problem("the dictionary lies outside of the table");
      co_return Result<void>();
    }
    dictionary_at_ = at;
    if (footer_.filter.size == 0 && footer_.ranges.size == 0) data_end_ = at.offset;
    CO_TRY_VOID(co_await read(at.offset, at.size));
    dictionary_ = read_block(bytes_, blob_, at.offset).value_or("");
    co_return Result<void>();
  }

  // Sections lie one behind the other between the data, with the parts, and everything else.
  void place_sections() {
    tail_begin_ = data_end_;
    if (!meta_) return;
    uint64_t end = 0;
    for (const IndexSection& section : meta_->sections) {
      if (section.root.size != 0) {
        const bool good = section.offset >= kTableHeaderBytes &&
                          section.root.end() <= tail_begin_ && (end == 0 || section.offset == end);
        if (!good)
          return dump_.problem(
              fmt::format("the section of index {} lies where none can be", section.index));
        if (end == 0) data_end_ = section.offset;
        end = section.root.end();
      }
      sections_.push_back(section);
    }
    if (end != 0 && end != tail_begin_)
      dump_.problem(
          fmt::format("the sections end at {}, what follows begins at {}", end, tail_begin_));
    if (options_.indexes == nullptr || sections_.empty()) return;
    const auto known = options_.indexes->find(meta_->table.value());
    if (known != options_.indexes->end()) wanted_.emplace(sections_, known->second);
  }

  Async<Result<void>> show_sections() {
    const bool all_found = dump_.problems() == problems_before_;
    const uint64_t end = blocks_.empty() ? kTableHeaderBytes : blocks_.back().handle.end();
    if (all_found && !footer_.index_in_parts && end != data_end_)
      dump_.problem(
          fmt::format("the data blocks end at {}, what follows begins at {}", end, data_end_));
    for (const IndexSection& section : sections_) {
      const IndexSchema* index = wanted_ ? wanted_->definition(section.index) : nullptr;
      WantedIndexEntries* wanted = all_found && index != nullptr ? &*wanted_ : nullptr;
      CO_TRY_VOID(co_await dump_section(file_, blob_, section, index, wanted, options_, dump_));
    }
    co_return Result<void>();
  }

  void show_header() {
    dump_.section(0, kTableHeaderBytes, "header");
    dump_.field(0, Bytes(bytes_).substr(0, 8), "magic");
    dump_.field(8, Bytes(bytes_).substr(8, 4),
                fmt::format("format {}", load_le<uint32_t>(bytes_.data() + 8)));
    dump_.field(12, Bytes(bytes_).substr(12, 4), "checksum");
    dump_.field(16, Bytes(bytes_).substr(16, 8),
                fmt::format("blob {:016x}", load_le<uint64_t>(bytes_.data() + 16)));
    if (auto ok = check_table_header(bytes_, blob_); !ok) dump_.problem(ok.error().message);
  }

  bool show_footer(const std::string& footer) {
    const uint64_t at = size_ - kTableFooterBytes;
    dump_.section(at, kTableFooterBytes, "footer");
    static constexpr Bytes kNames[] = {"filter", "range deletes", "meta", "index"};
    for (size_t i = 0; i < 4; ++i) {
      const char* p = footer.data() + i * 12;
      dump_.field(at + i * 12, Bytes(p, 12),
                  fmt::format("{}: {} bytes at {}", kNames[i], load_le<uint32_t>(p + 8),
                              load_le<uint64_t>(p)));
    }
    dump_.field(at + 48, Bytes(footer).substr(48, 8),
                fmt::format("blob {:016x}", load_le<uint64_t>(footer.data() + 48)));
    dump_.field(at + 56, Bytes(footer).substr(56, 4), "index: 0 whole, 1 in parts");
    dump_.field(at + 60, Bytes(footer).substr(60, 4), "format");
    dump_.field(at + 64, Bytes(footer).substr(64, 4), "checksum");
    dump_.field(at + 68, Bytes(footer).substr(68, 8), "magic");
    Result<TableFooter> decoded = decode_table_footer(footer, blob_, size_);
    if (!decoded) {
      dump_.problem(decoded.error().message);
      return false;
    }
    footer_ = *decoded;
    data_end_ = footer_.index.offset;
    for (const BlockHandle& h : {footer_.meta, footer_.ranges, footer_.filter}) {
      if (h.size != 0) data_end_ = h.offset;
    }
    return true;
  }

  void show_index() {
    const auto contents = open_block(footer_.index.offset, "index");
    if (!contents) return;
    show_contents(*contents, "blocks: how many, then each");
    show_trailer(footer_.index.offset);
    if (!index_.open(*contents, data_end_)) return dump_.problem("the index is malformed");
    for (size_t i = 0; i < index_.blocks(); ++i) {
      blocks_.push_back({std::string(index_.separator(i)), index_.handle(i), index_.raw_bytes(i),
                         index_.bounds(i)});
    }
  }

  void show_top_index() {
    const auto contents = open_block(footer_.index.offset, "top-level index");
    if (!contents) return;
    show_contents(*contents, "index of parts, largest block, sampled rows, sizes of parts");
    show_trailer(footer_.index.offset);
    const auto inner = TopLevelIndex::inner(*contents, data_end_);
    if (!inner || !index_.open(inner->index, inner->data_end) ||
        !top_index_.open(*contents, index_, data_end_)) {
      top_index_ = TopLevelIndex();
      dump_.problem("the top-level index is malformed");
    }
  }

  void show_part(size_t number) {
    const uint64_t offset = top_index_.handle(number).offset;
    const auto contents = open_block(offset, fmt::format("part {} from \"{}\": {}", number,
                                                         escape_bytes(index_.separator(number)),
                                                         describe_bounds(index_.bounds(number))));
    if (!contents) return;
    IndexPartition part;
    if (!part.open(*contents, index_.raw_bytes(number), index_.handle(number).offset)) {
      return dump_.problem(fmt::format("part {} is malformed", number));
    }
    dump_.field(in_file_, Bytes(*contents).substr(0, 16),
                fmt::format("{} blocks; bytes of their common prefix, of the filter over rows, of "
                            "that over columns",
                            part.blocks()));
    if (options_.entries) dump_.field(in_file_ + 16, Bytes(*contents).substr(16), "the rest");
    for (size_t i = 0; i < part.blocks(); ++i) {
      std::string separator(index_.separator(number));
      if (i > 0) separator.assign(part.prefix()).append(part.separator_rest(i));
      if (!blocks_.empty() && separator <= blocks_.back().separator) {
        dump_.problem(fmt::format("part {}: a separator is not greater than the last", number));
      }
      blocks_.push_back({std::move(separator), part.handle(i), part.raw_bytes(i), part.bounds(i)});
    }
    show_trailer(offset);
    const uint64_t end = blocks_.back().handle.end();
    if (end != index_.handle(number).end()) {
      dump_.problem(fmt::format("the blocks of part {} end at {}", number, end));
    }
  }

  void show_data_block(size_t i) {
    const uint64_t offset = blocks_[i].handle.offset;
    const std::string name =
        fmt::format("data block {} from \"{}\": {}", i, escape_bytes(blocks_[i].separator),
                    describe_bounds(blocks_[i].bounds));
    const auto contents = open_block(offset, name);
    if (!contents) return;
    if (contents->size() != blocks_[i].raw_bytes) {
      dump_.problem(fmt::format("block {} unpacks to {} bytes, the index says {}", i,
                                contents->size(), blocks_[i].raw_bytes));
    }
    BlockReader reader;
    BlockReader::Move move = BlockReader::Move::corrupt;
    if (reader.open(*contents)) move = reader.seek_first();
    size_t begin = 0;
    while (move == BlockReader::Move::ready) {
      const Bytes entry = Bytes(*contents).substr(begin, reader.position() - begin);
      show_entry(i, begin, entry, reader.key(), reader.value());
      begin = reader.position();
      move = reader.next();
    }
    if (move == BlockReader::Move::corrupt) {
      dump_.problem(fmt::format("{} is malformed", block_name(blob_, offset)));
      return;
    }
    if (options_.entries) {
      dump_.field(in_file_ + begin, Bytes(*contents).substr(begin), "restarts, their count");
    }
    show_trailer(offset);
  }

  void show_entry(size_t block, size_t at, Bytes entry, Bytes key, Bytes value) {
    ParsedKey parsed;
    if (parse_key(key, parsed)) {
      columns_.add_entry(parsed);
      if (wanted_) wanted_->add(parsed, value, block);
    } else {
      dump_.problem(fmt::format("block {}: malformed key", block));
    }
    if (entries_ > 0 && key <= last_key_) {
      dump_.problem(fmt::format("block {}: a key is not greater than the one before it", block));
    }
    const bool above = block + 1 < blocks_.size() && key >= blocks_[block + 1].separator;
    if (key < blocks_[block].separator || above) {
      dump_.problem(fmt::format("block {}: a key lies outside its separators", block));
    }
    if (entries_ == 0) first_key_.assign(key);
    last_key_.assign(key);
    ++entries_;
    if (!options_.entries || (options_.filter.active() && !wanted(parsed))) return;
    dump_.entry(in_file_ + at, entry, describe_entry(key, value));
  }

  bool wanted(const ParsedKey& key) const {
    std::string scratch;
    return in_table_ && options_.filter.wants_row(decode_segment(key.escaped_row, scratch));
  }

  Async<Result<void>> show_filter(BlockHandle handle, std::string name) {
    if (handle.size == 0) co_return Result<void>();
    if (handle.end() > footer_.meta.offset) {
      dump_.problem(fmt::format("the {} ends at {}", name, handle.end()));
      co_return Result<void>();
    }
    CO_TRY_VOID(co_await read(handle.offset, handle.size));
    const auto contents = open_block(handle.offset, name);
    if (!contents) co_return Result<void>();
    Filter filter;
    if (!filter.open(*contents)) {
      dump_.problem(fmt::format("the {} is malformed", name));
      co_return Result<void>();
    }
    dump_.field(in_file_, Bytes(*contents).substr(0, 8),
                fmt::format("kind, {} probes, {} lines", static_cast<int>((*contents)[1]),
                            load_le<uint32_t>(contents->data() + 4)));
    if (options_.entries) dump_.field(in_file_ + 8, Bytes(*contents).substr(8), "lines");
    show_trailer(handle.offset);
    co_return Result<void>();
  }

  void show_ranges() {
    const auto contents = open_block(footer_.ranges.offset, "range deletes");
    if (!contents) return;
    std::vector<RangeTombstone> ranges;
    if (!decode_ranges(*contents, ranges)) return dump_.problem("the range deletes are malformed");
    show_contents(*contents, "how many, then each");
    for (const RangeTombstone& r : ranges) {
      if (!in_table_ || !options_.filter.wants_range(r.start, r.end)) continue;
      dump_.entry(
          in_file_, {},
          fmt::format("rows [\"{}\", {}) stamp {}", escape_bytes(r.start),
                      r.end.empty() ? "end" : fmt::format("\"{}\"", escape_bytes(r.end)), r.stamp));
    }
    show_trailer(footer_.ranges.offset);
  }

  void show_dictionary() {
    const auto contents = open_block(dictionary_at_.offset, "dictionary");
    if (!contents) return;
    if (!can_be_dictionary(*contents)) dump_.problem("the dictionary is none");
    show_contents(*contents, "bytes like those of blocks");
    show_trailer(dictionary_at_.offset);
  }

  void show_meta() {
    const auto contents = open_block(footer_.meta.offset, "meta");
    if (!contents) return;
    const Result<TableMeta> meta = decode_table_meta(*contents);
    if (!meta) return dump_.problem(meta.error().message);
    show_contents(*contents, "fields: tag, size, content");
    const auto line = [this](const std::string& text) { dump_.field(in_file_, {}, text); };
    line(fmt::format("table {} tablet {} rows [\"{}\", \"{}\") run {}", meta->table, meta->tablet,
                     escape_bytes(meta->tablet_start), escape_bytes(meta->tablet_end), meta->run));
    line(fmt::format("{} entries in {} rows: {} cells, {} row, {} family and {} column deletes",
                     meta->entries, meta->rows, meta->cells, meta->row_deletes,
                     meta->family_deletes, meta->column_deletes));
    line(fmt::format("{} range deletes; stamps {} to {}", meta->range_deletes, meta->min_stamp,
                     meta->max_stamp));
    line(fmt::format("keys {} to {}", escape_bytes(meta->smallest_key),
                     escape_bytes(meta->largest_key)));
    line(describe_bounds(meta->bounds));
    line(describe_profile(meta->profile));
    line(describe_columns(meta->columns));
    for (const IndexSection& section : meta->sections) line(describe_section(section));
    if (meta->gc_watermark != CommitStamp{})
      line(fmt::format("gc watermark {}", meta->gc_watermark));
    line(fmt::format("{} blocks, {} bytes; before compression {} of keys, {} of values",
                     meta->blocks, meta->data_bytes, meta->key_bytes, meta->value_bytes));
    if (meta->compression == Compression::zstd) {
      line(fmt::format("compression zstd where it paid, {}",
                       meta->dictionary.size == 0
                           ? std::string("no dictionary")
                           : fmt::format("dictionary at {}", meta->dictionary.offset)));
    }
    show_trailer(footer_.meta.offset);
    if (dump_.problems() > problems_before_) return;  // damaged parts were not counted
    if (meta->entries != entries_ || meta->smallest_key != first_key_ ||
        meta->largest_key != last_key_ || meta->blocks != blocks_.size()) {
      dump_.problem(fmt::format("the meta block tells of {} entries in {} blocks, {} in {} found",
                                meta->entries, meta->blocks, entries_, blocks_.size()));
    }
    if (meta->columns.known() && meta->columns != columns_) {
      dump_.problem(fmt::format("the meta block lists {}, but the cells have {}",
                                describe_columns(meta->columns), describe_columns(columns_)));
    }
  }

  const size_t problems_before_;
  uint64_t size_ = 0;
  TableFooter footer_;
  BlockHandle column_filter_;
  bool in_table_ = true;  // the file is of the table of the filter
  BlockHandle dictionary_at_;
  std::optional<TableMeta> meta_;
  std::vector<IndexSection> sections_;        // in their places
  std::optional<WantedIndexEntries> wanted_;  // by definitions that are known
  uint64_t data_end_ = 0;                     // with the parts
  uint64_t tail_begin_ = 0;                   // of what follows the sections
  TableIndex index_;                          // of data blocks or of parts
  TopLevelIndex top_index_;
  struct BlockPlace {
    std::string separator;
    BlockHandle handle;
    uint32_t raw_bytes;
    TimeBounds bounds;
  };
  std::vector<BlockPlace> blocks_;  // data blocks, in order
  uint64_t entries_ = 0;
  std::string first_key_;
  std::string last_key_;
  ColumnList columns_;  // of the cells found
};

}  // namespace

Async<Result<void>> dump_table(File& file, std::optional<BlobId> blob, DumpOptions options,
                               Dump& dump) {
  TableDump table(file, options, dump);
  co_return co_await table.run(blob);
}

}  // namespace cellar::engine
