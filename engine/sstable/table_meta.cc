#include "engine/sstable/table_meta.h"

#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// More than a tree can have: each level has at least half as many blocks as the one above.
constexpr uint64_t kMaxSectionLevels = 32;

// On disk: never renumber or reuse. A field is tag: varint, then its contents as bytes.
enum Tag : uint64_t {
  kBlob = 1,
  kFileBytes = 2,
  kTable = 3,
  kTablet = 4,
  kTabletStart = 5,
  kTabletEnd = 6,
  kRun = 7,
  kEntries = 8,
  kRows = 9,
  kCells = 10,
  kRowDeletes = 11,
  kFamilyDeletes = 12,
  kColumnDeletes = 13,
  kRangeDeletes = 14,
  kSmallestKey = 15,
  kLargestKey = 16,
  kEarliestStamp = 17,
  kLatestStamp = 18,
  kBounds = 19,
  kBlocks = 20,
  kDataBytes = 21,
  kKeyBytes = 22,
  kValueBytes = 23,
  kBlockBytes = 24,
  kCompression = 25,
  kGcWatermark = 26,
  kProfile = 27,
  kColumnFilter = 28,
  kDictionary = 29,
  kColumns = 30,
  kSections = 31,
};

// One list of fields for both directions: `visit` receives (tag, field).
template <class Meta, class Visit>
void for_each_field(Meta& m, Visit&& visit) {
  visit(kBlob, m.blob);
  visit(kFileBytes, m.file_bytes);
  visit(kTable, m.table);
  visit(kTablet, m.tablet);
  visit(kTabletStart, m.tablet_start);
  visit(kTabletEnd, m.tablet_end);
  visit(kRun, m.run);
  visit(kEntries, m.entries);
  visit(kRows, m.rows);
  visit(kCells, m.cells);
  visit(kRowDeletes, m.row_deletes);
  visit(kFamilyDeletes, m.family_deletes);
  visit(kColumnDeletes, m.column_deletes);
  visit(kRangeDeletes, m.range_deletes);
  visit(kSmallestKey, m.smallest_key);
  visit(kLargestKey, m.largest_key);
  visit(kEarliestStamp, m.min_stamp);
  visit(kLatestStamp, m.max_stamp);
  visit(kBounds, m.bounds);
  visit(kBlocks, m.blocks);
  visit(kDataBytes, m.data_bytes);
  visit(kKeyBytes, m.key_bytes);
  visit(kValueBytes, m.value_bytes);
  visit(kBlockBytes, m.block_bytes);
  visit(kCompression, m.compression);
  visit(kGcWatermark, m.gc_watermark);
  visit(kProfile, m.profile);
  visit(kColumnFilter, m.column_filter);
  visit(kDictionary, m.dictionary);
  visit(kColumns, m.columns);
  visit(kSections, m.sections);
}

std::string number(uint64_t v) {
  std::string out;
  put_varint(out, v);
  return out;
}

std::string content(uint64_t v) { return number(v); }
std::string content(uint32_t v) { return number(v); }
std::string content(Compression v) { return number(static_cast<uint64_t>(v)); }
std::string content(const std::string& v) { return v; }
template <class T>
std::string content(Strong<T, uint64_t> v) {
  return number(v.value());
}
std::string content(const TimeBounds& v) {
  std::string out;
  encode_time_bounds(out, v);
  return out;
}
std::string content(const CellProfile& v) {
  std::string out;
  encode_cell_profile(out, v);
  return out;
}
std::string content(const ColumnList& v) { return v.encoded(); }
std::string content(const BlockHandle& v) { return number(v.offset) + number(v.size); }

std::string content(const std::vector<IndexSection>& sections) {
  std::string out;
  for (const IndexSection& section : sections) {
    put_varint(out, section.index);
    put_varint(out, section.root.offset);
    put_varint(out, section.root.size);
    put_varint(out, section.levels);
    put_varint(out, section.offset);
    put_varint(out, section.entries);
    put_varint(out, section.skipped);
    put_u64(out, static_cast<uint64_t>(section.omitted_to_us));
    put_u64(out, static_cast<uint64_t>(section.oldest_us));
    put_u64(out, static_cast<uint64_t>(section.newest_us));
    put_u32(out, section.checksum);
  }
  return out;
}

bool parse(Bytes in, uint64_t& out) {
  Reader reader(in);
  out = reader.varint();
  return reader.ok() && reader.at_end();
}
bool parse(Bytes in, uint32_t& out) {
  uint64_t v = 0;
  if (!parse(in, v) || v > UINT32_MAX) return false;
  out = static_cast<uint32_t>(v);
  return true;
}
bool parse(Bytes in, Compression& out) {
  uint64_t v = 0;
  if (!parse(in, v) || v > static_cast<uint64_t>(Compression::zstd)) return false;
  out = static_cast<Compression>(v);
  return true;
}
bool parse(Bytes in, std::string& out) {
  out.assign(in);
  return true;
}
template <class T>
bool parse(Bytes in, Strong<T, uint64_t>& out) {
  uint64_t v = 0;
  if (!parse(in, v)) return false;
  out = Strong<T, uint64_t>(v);
  return true;
}
bool parse(Bytes in, TimeBounds& out) {
  Reader reader(in);
  return decode_time_bounds(reader, out) && reader.at_end();
}
bool parse(Bytes in, BlockHandle& out) {
  Reader reader(in);
  out.offset = reader.varint();
  const uint64_t size = reader.varint();
  out.size = static_cast<uint32_t>(size);
  return reader.ok() && reader.at_end() && size <= UINT32_MAX;
}
bool parse(Bytes in, std::vector<IndexSection>& out) {
  Reader reader(in);
  while (reader.ok() && !reader.at_end()) {
    IndexSection section;
    section.index = reader.varint();
    section.root.offset = reader.varint();
    const uint64_t size = reader.varint();
    const uint64_t levels = reader.varint();
    section.offset = reader.varint();
    section.entries = reader.varint();
    section.skipped = reader.varint();
    section.omitted_to_us = static_cast<int64_t>(reader.u64());
    section.oldest_us = static_cast<int64_t>(reader.u64());
    section.newest_us = static_cast<int64_t>(reader.u64());
    section.checksum = reader.u32();
    const bool empty = size == 0;
    if (size > UINT32_MAX || levels > kMaxSectionLevels || empty != (levels == 0)) return false;
    if (empty != (section.entries == 0) || (!empty && size <= kBlockTrailerBytes)) return false;
    section.root.size = static_cast<uint32_t>(size);
    section.levels = static_cast<uint32_t>(levels);
    if (section.root.offset < section.offset || section.index == 0) return false;
    out.push_back(section);
  }
  return reader.ok();
}
bool parse(Bytes in, ColumnList& out) { return out.decode(in); }
bool parse(Bytes in, CellProfile& out) {
  Reader reader(in);
  return decode_cell_profile(reader, out);
}

// Fields that may be missing.
bool is_optional(Tag tag) { return tag == kProfile || tag == kColumns || tag == kSections; }
bool is_absent(Tag tag, const TableMeta& meta) {
  return (tag == kProfile && !meta.profile.known) || (tag == kColumns && !meta.columns.known()) ||
         (tag == kSections && meta.sections.empty());
}

}  // namespace

std::string encode_table_meta(const TableMeta& meta) {
  std::string out;
  for_each_field(meta, [&](Tag tag, const auto& field) {
    if (is_absent(tag, meta)) return;
    put_varint(out, tag);
    put_bytes(out, content(field));
  });
  return out;
}

Result<TableMeta> decode_table_meta(Bytes encoded) {
  TableMeta meta;
  Reader in(encoded);
  bool good = true;
  uint64_t found = 0;  // bit n: the field of tag n
  while (good && in.ok() && !in.at_end()) {
    const uint64_t tag = in.varint();
    const Bytes bytes = in.bytes();
    if (!in.ok()) break;
    for_each_field(meta, [&](Tag known, auto& field) {
      if (tag != known) return;
      good = parse(bytes, field);
      found |= uint64_t{1} << tag;
    });
  }
  for_each_field(meta, [&](Tag tag, const auto&) {
    if (!is_optional(tag)) good &= (found >> tag & 1) != 0;
  });
  if (!good || !in.ok()) {
    return fail(Errc::data_loss, "the facts about a table are malformed ({} bytes)",
                encoded.size());
  }
  return meta;
}

const IndexSection* TableMeta::section_of(uint64_t index) const {
  const auto at = std::ranges::find(sections, index, &IndexSection::index);
  return at == sections.end() ? nullptr : &*at;
}

size_t TableMeta::heap_bytes() const {
  size_t bytes = sections.capacity() * sizeof(IndexSection) + tablet_start.capacity() +
                 tablet_end.capacity() + smallest_key.capacity() + largest_key.capacity() +
                 columns.heap_bytes() + profile.row_sample.capacity() * sizeof(uint64_t) +
                 profile.expiries.buckets().capacity() * sizeof(TimeHistogram::Bucket) +
                 profile.families.capacity() * sizeof(CellProfile::Family);
  for (const CellProfile::Family& family : profile.families) {
    bytes +=
        family.name.capacity() + family.times.buckets().capacity() * sizeof(TimeHistogram::Bucket);
  }
  return bytes;
}

}  // namespace cellar::engine
