#include "engine/scrub/table_check.h"

#include <algorithm>

#include "io/base/check.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

bool same(const TableFooter& a, const TableFooter& b) {
  return a.filter == b.filter && a.ranges == b.ranges && a.meta == b.meta && a.index == b.index &&
         a.index_in_parts == b.index_in_parts;
}

}  // namespace

std::vector<BlockHandle> TableCheck::tail_of(const TableReader& reader) {
  std::vector<BlockHandle> tail;
  const TableFooter& footer = reader.footer();
  for (const BlockHandle& handle : {footer.filter, reader.meta().column_filter, footer.ranges,
                                    reader.meta().dictionary, footer.meta, footer.index}) {
    if (handle.size != 0) tail.push_back(handle);
  }
  std::ranges::sort(tail, {}, &BlockHandle::offset);
  return tail;
}

std::optional<TableCheck::Unit> TableCheck::produce_data(const TableReader& reader) {
  const TopLevelIndex* top = reader.top_index();
  if (top == nullptr) {
    if (block_ == reader.index().blocks()) return std::nullopt;
    return Unit(Kind::data, reader.index().handle(block_++));
  }
  if (open_part_ && block_ < open_part_->blocks()) {
    return Unit(Kind::data, open_part_->handle(block_++));
  }
  open_part_.reset();
  if (part_ == top->parts()) return std::nullopt;
  part_blocks_ = reader.marks().raw_bytes(part_);
  part_data_offset_ = reader.marks().handle(part_).offset;
  return Unit(Kind::part, top->handle(part_++));
}

std::optional<TableCheck::Unit> TableCheck::produce(const TableReader& reader) {
  if (stage_ == Stage::header) {
    stage_ = Stage::data;
    return Unit(Kind::header, {0, kTableHeaderBytes});
  }
  if (stage_ == Stage::data) {
    if (auto unit = produce_data(reader)) return unit;
    stage_ = Stage::sections;
  }
  if (stage_ == Stage::sections) {
    const std::vector<IndexSection>& sections = reader.meta().sections;
    while (section_ < sections.size()) {
      const IndexSection& section = sections[section_++];
      if (section.root.size != 0) return Unit(section);
    }
    stage_ = Stage::tail;
  }
  if (stage_ == Stage::tail) {
    const std::vector<BlockHandle> tail = tail_of(reader);
    if (tail_ < tail.size()) return Unit(Kind::tail, tail[tail_++]);
    stage_ = Stage::footer;
  }
  if (stage_ == Stage::footer) {
    stage_ = Stage::end;
    footer_ = reader.footer();
    return Unit(Kind::footer, {reader.meta().file_bytes - kTableFooterBytes, kTableFooterBytes});
  }
  return std::nullopt;
}

std::optional<TableCheck::Piece> TableCheck::next(const TableReader& reader) {
  CHECK(reader.id() == blob_ && !reader.is_lost());
  if (at_ > 0) {
    const Unit& unit = units_.front();
    piece_ = {unit.offset + at_, std::min<size_t>(unit.bytes - at_, kPieceBytes)};
    return piece_;
  }
  units_.clear();
  uint64_t bytes = 0;
  for (;;) {
    if (!ahead_) ahead_ = produce(reader);
    if (!ahead_) break;
    if (!units_.empty() &&
        (ahead_->offset != units_.back().end() || bytes + ahead_->bytes > kPieceBytes)) {
      break;
    }
    units_.push_back(*ahead_);
    ahead_.reset();
    bytes += units_.back().bytes;
    if (units_.back().kind == Kind::part) break;  // the blocks after it are not known yet
  }
  if (units_.empty()) return std::nullopt;
  piece_ = {units_.front().offset, std::min<size_t>(bytes, kPieceBytes)};
  return piece_;
}

void TableCheck::begin(const Unit& unit) {
  text_.clear();
  checksum_.reset();
  section_crc_ = 0;
  if (unit.kind == Kind::data || unit.kind == Kind::part || unit.kind == Kind::tail) {
    checksum_.emplace(blob_, BlockHandle{unit.offset, static_cast<uint32_t>(unit.bytes)});
  }
}

void TableCheck::feed(const Unit& unit, Bytes bytes) {
  if (checksum_) checksum_->add(bytes);
  if (unit.kind == Kind::section) {
    section_crc_ = crc32c(bytes, section_crc_);
  } else if (unit.kind != Kind::data && unit.kind != Kind::tail) {
    text_.append(bytes);
  }
}

void TableCheck::take(Bytes bytes) {
  CHECK(bytes.size() == piece_.bytes, "{} bytes of {}", bytes.size(), piece_.bytes);
  checked_bytes_ += bytes.size();
  const Unit first = units_.front();
  if (first.bytes > kPieceBytes) {
    if (at_ == 0) begin(first);
    feed(first, bytes);
    at_ += bytes.size();
    if (at_ < first.bytes) return;
    at_ = 0;
    return finish(first);
  }
  for (const Unit& unit : units_) {
    begin(unit);
    feed(unit, bytes.substr(unit.offset - piece_.offset, unit.bytes));
    finish(unit);
  }
}

void TableCheck::failed(const Error& error) {
  ++damage_.failed_reads;
  at_ = 0;
  if (damage_.first) return;
  damage_.first = error;
  damage_.offset = piece_.offset;
}

void TableCheck::finish(const Unit& unit) {
  if (const Result<void> good = check(unit); !good) damaged(unit, good.error());
}

Result<void> TableCheck::check(const Unit& unit) {
  if (unit.kind == Kind::header) return check_table_header(text_, blob_);
  if (unit.kind == Kind::footer) {
    TRY(const TableFooter footer,
        decode_table_footer(text_, blob_, unit.offset + kTableFooterBytes));
    if (same(footer, *footer_)) return {};
    return fail(Errc::data_loss, "the footer of {} is not the one that was opened",
                block_name(blob_, unit.offset));
  }
  if (unit.kind == Kind::section) {
    if (section_crc_ == unit.checksum) return {};
    return fail(Errc::data_loss,
                "the index section of {}, {} bytes, is damaged: its checksum is wrong",
                block_name(blob_, unit.offset), unit.bytes);
  }
  TRY_VOID(checksum_->check());
  return unit.kind == Kind::part ? open_part(unit) : Result<void>();
}

Result<void> TableCheck::open_part(const Unit& unit) {
  TRY(part_contents_, read_block(text_, blob_, unit.offset));
  IndexPartition part;
  bool good = part.open(part_contents_, part_blocks_, part_data_offset_);
  for (size_t i = 0; good && i < part.blocks(); ++i) {
    good = part.handle(i).size >= kBlockTrailerBytes;
  }
  if (!good) {
    return fail(Errc::data_loss, "the index part of {} is malformed",
                block_name(blob_, unit.offset));
  }
  block_ = 0;
  open_part_ = part;
  return {};
}

void TableCheck::damaged(const Unit& unit, const Error& error) {
  ++damage_.blocks;
  if (unit.kind == Kind::section) ++damage_.sections;
  if (!damage_.met && (unit.kind == Kind::data || unit.kind == Kind::part)) damage_.met = error;
  if (damage_.first) return;
  damage_.first = error;
  damage_.offset = unit.offset;
}

}  // namespace cellar::engine
