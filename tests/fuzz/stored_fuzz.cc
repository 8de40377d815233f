// Stored bytes behind a checksum: blocks, table properties, commits, manifest states, exports. A
// checksum detects damage by the disk, not a defect of the program that wrote the bytes.
#include <map>

#include "engine/backup/backup_file.h"
#include "engine/export/export_check.h"
#include "engine/iter/range_delete.h"
#include "engine/manifest/audit_entry.h"
#include "engine/manifest/clock_state.h"
#include "engine/manifest/states.h"
#include "engine/manifest/table_item.h"
#include "engine/manifest/table_state.h"
#include "engine/model/mutation.h"
#include "engine/model/token.h"
#include "engine/record/file_header.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "engine/store/local/format_file.h"
#include "engine/store/log/local_log.h"
#include "engine/store/manifest/manifest_entries.h"
#include "io/base/check.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "tests/fuzz/fuzz_target.h"

namespace cellar::fuzz {

using namespace engine;  // NOLINT(google-build-using-namespace): nearly every name here is its

namespace {

using Move = BlockReader::Move;

// Bounded, because the entries of a malformed block may form a cycle.
constexpr int kMostMoves = 1000;

void walk(BlockReader& reader, Move move) {
  volatile size_t seen = 0;
  for (int i = 0; i < kMostMoves && move == Move::ready; ++i) {
    ParsedKey key;
    CellValue value;
    seen = seen + parse_key(reader.key(), key) + parse_cell_value(reader.value(), value);
    move = reader.next();
  }
}

void block(Bytes input) {
  const Bytes sought = input.substr(0, std::min<size_t>(input.size(), 8));
  const std::string contents(input.substr(sought.size()));
  const BlockHeads heads = make_block_heads(contents);
  for (const BlockHeads* with : {static_cast<const BlockHeads*>(nullptr), &heads}) {
    BlockReader reader;
    if (!reader.open(contents, with)) return;
    walk(reader, reader.seek_first());
    walk(reader, reader.seek(sought));
    walk(reader, reader.seek_before(sought));
    Bytes key;
    for (uint32_t i = 0; i < std::min(reader.restarts(), 3u); ++i) {
      if (reader.restart_key(i, key)) walk(reader, reader.seek(std::string(key)));
      if (reader.seek_to_restart(i)) walk(reader, reader.next());
    }
  }
}

// Keys from the input, each followed by a zero, in a valid block: with and without heads, a search
// finds what a map finds.
void search(Bytes input) {
  std::map<std::string, std::string> entries;
  for (size_t at = 0; at < input.size() && entries.size() < 100;) {
    const size_t end = std::min(input.find('\0', at), input.size());
    entries.emplace(input.substr(at, end - at), input.substr(at, std::min<size_t>(end - at, 3)));
    at = end + 1;
  }
  if (entries.empty()) return;
  BlockWriter writer;
  for (const auto& [key, value] : entries) writer.add(key, value);
  const std::string contents(writer.finish());
  const BlockHeads heads = make_block_heads(contents);
  for (const BlockHeads* with : {static_cast<const BlockHeads*>(nullptr), &heads}) {
    BlockReader reader;
    CHECK(reader.open(contents, with));
    for (const auto& [key, value] : entries) {
      for (std::string sought :
           {key, key + '\0', key.substr(0, key.size() / 2), key + "\xff\xff"}) {
        const auto found = entries.lower_bound(sought);
        const Move move = reader.seek(sought);
        CHECK(move == (found == entries.end() ? Move::end : Move::ready));
        CHECK(move == Move::end || reader.key() == found->first);
        const Move before = reader.seek_before(sought);
        CHECK(before == (found == entries.begin() ? Move::end : Move::ready));
        CHECK(before == Move::end || reader.key() == std::prev(found)->first);
      }
    }
  }
}

// The first byte is the type of the block; the checksum is made to match.
void packed(Bytes input) {
  const Choice type = choose(input, 5);
  std::string stored(type.rest);
  finish_block(stored, 0, static_cast<BlockType>(type.number), BlobId{1}, 24);
  for (const Bytes dictionary : {Bytes(), Bytes("a dictionary of words that look alike")}) {
    const auto checked = check_block(stored, BlobId{1}, 24);
    if (!checked || checked->raw_bytes > 1u << 20) return;
    const auto raw = read_block(stored, BlobId{1}, 24, dictionary);
    CHECK(!raw || raw->size() == checked->raw_bytes);
  }
}

void facts(Bytes input) {
  const auto meta = decode_table_meta(input);
  if (!meta) return;
  (void)meta->watermark();
  const auto again = decode_table_meta(encode_table_meta(*meta));
  CHECK(again && encode_table_meta(*again) == encode_table_meta(*meta));
}

void filter(Bytes input) {
  Filter opened;
  if (!opened.open(input)) return;
  volatile int found = 0;
  for (const Bytes row : {"", "a", "row"}) found = found + opened.may_contain(row_hash(row));
}

void ranges(Bytes input) {
  std::vector<RangeTombstone> decoded;
  if (!decode_ranges(input, decoded)) return;
  (void)covering_stamp(decoded, "row");
  std::vector<RangeTombstone> again;
  CHECK(decode_ranges(encode_ranges(decoded), again) && again == decoded);
}

void footer(Bytes input) {
  std::string bytes(input.substr(0, kTableFooterBytes));
  bytes.resize(kTableFooterBytes);
  (void)decode_table_footer(bytes, BlobId{1}, 4096);
}

class Entries final : public CommitVisitor {
 public:
  void entry(Bytes key, Bytes value) override { seen_ += parse_key(key, key_) + value.size(); }
  void range_delete(const RangeDelete& range, CommitStamp) override { seen_ += range.end.size(); }

 private:
  ParsedKey key_;
  size_t seen_ = 0;
};

void commit(Bytes input) {
  Entries entries;
  (void)visit_commit(input, CommitStamp{7}, entries);
  const auto entry = decode_entry(input);
  if (entry) (void)visit_commit(entry->payload, entry->stamp, entries);
}

void keys(Bytes input) {
  ParsedKey key;
  std::string scratch;
  if (parse_key(input, key)) (void)decode_segment(key.escaped_row, scratch);
  CellValue value;
  (void)parse_cell_value(input, value);
  TokenRecord record;
  (void)parse_token_record(input, record);
  Bytes client, token;
  (void)split_token_id(input, client, token);
}

void states(Bytes input) {
  (void)decode_node_state(input);
  (void)decode_tablet_state(input);
  (void)decode_clock_state(input);
  (void)decode_audit_state(input);
  (void)decode_audit_entry(3, input);
  (void)decode_format(input);
  const auto item = decode_table_item(input);
  if (item) CHECK(decode_table_item(encode_table_item(*item)));
}

void table_state(Bytes input) {
  const auto state = decode_table_state(input);
  if (!state) return;
  const std::string encoded = encode_table_state(state->schema, state->drop);
  const auto again = decode_table_state(encoded);
  CHECK(again && encode_table_state(again->schema, again->drop) == encoded);
}

// A header as it is, and one with a matching checksum.
void file_head(Bytes input) {
  std::string page(input.substr(0, kFileHeaderBlockBytes));
  page.resize(kFileHeaderBlockBytes);
  Reader in(page);
  FileHeader made{RecordFileKind::log, in.u64(), in.u64(), in.u64(), {}};
  const AlignedBuffer right = encode_file_header(made);
  for (const Bytes bytes : {Bytes(page), right.bytes(0, right.size())})
    for (const RecordFileKind kind : {RecordFileKind::log, RecordFileKind::manifest})
      if (const auto head = decode_file_header(bytes, kind, "file"))
        (void)record_owner(kind, head->id);
  RecordView record;
  size_t need = 0;
  (void)parse_record(input, record_owner(RecordFileKind::log, 1), 4096, &record, &need);
}

// Frames with matching checksums and contents from the input.
void frames(Bytes input) {
  ExportCheck check;
  CHECK(check.file_head(encode_export_head()));
  uint32_t chain = check.chain();
  const std::string description = encode_frame(FrameKind::description, "{}", chain);
  const auto feed = [&](Bytes frame) {
    return check.frame(frame.substr(0, kFrameHeadBytes), frame.substr(kFrameHeadBytes));
  };
  CHECK(feed(description));
  while (!input.empty()) {
    const Choice kind = choose(input, 5);
    const size_t size = std::min<size_t>(kind.rest.size(), 64);
    const std::string frame =
        encode_frame(static_cast<FrameKind>(kind.number), kind.rest.substr(0, size), chain);
    if (!feed(frame)) return;
    input = kind.rest.substr(size);
  }
}

// With a matching checksum.
void backup(Bytes input) {
  constexpr size_t kChecksumAt = 12;
  constexpr size_t kHeadBytes = kChecksumAt + sizeof(uint32_t);
  std::string content(input);
  if (content.size() >= kHeadBytes) {
    const Bytes head = Bytes(content).substr(0, kChecksumAt);
    store_le(content.data() + kChecksumAt, crc32c(Bytes(content).substr(kHeadBytes), crc32c(head)));
  }
  const auto file = decode_backup(content, "a backup");
  if (file) (void)contents_of(*file, "a backup");
}

using Decode = void (*)(Bytes);
constexpr Decode kDecoders[] = {&block,       &search,    &packed, &facts, &filter,
                                &ranges,      &footer,    &commit, &keys,  &states,
                                &table_state, &file_head, &frames, &backup};

void fuzz_stored(Bytes input) {
  const Choice choice = choose(input, std::size(kDecoders));
  kDecoders[choice.number](choice.rest);
}

// ---- seeds

std::string block_seed() {
  BlockWriter writer;
  for (int i = 0; i < 40; ++i) {
    std::string key, value;
    append_cell(key, fmt::format("row{:02}", i), "f", "q", 1000 + i, CommitStamp{7});
    append_cell_value(value, "value", i % 2 == 0 ? kNoExpiry : 5000);
    writer.add(key, value);
  }
  return "row20   " + std::string(writer.finish());
}

std::string facts_seed() {
  TableMeta meta;
  meta.blob = BlobId{5};
  meta.entries = meta.rows = meta.cells = 3;
  meta.smallest_key = "a";
  meta.largest_key = "z";
  meta.bounds.add_cell(1000, 2000);
  meta.bounds.add_delete(10, 20);
  meta.dictionary = {1000, 80};
  meta.column_filter = {2000, 70};
  meta.compression = Compression::zstd;
  IndexSection section;
  section.index = 4;
  section.root = {900, 60};
  section.levels = 2;
  section.offset = 500;
  section.entries = 3;
  section.omitted_to_us = 900;
  section.oldest_us = 1000;
  section.newest_us = 2000;
  section.checksum = 0x12345678;
  meta.sections.push_back(section);
  section = IndexSection();
  section.index = 7;
  section.skipped = 3;
  meta.sections.push_back(section);
  return encode_table_meta(meta);
}

std::string commit_seed() {
  Mutation sets[2];
  sets[0].family = sets[1].family = "f";
  sets[0].qualifier = "q";
  sets[0].value = "v";
  sets[0].timestamp_us = 9;
  sets[1].kind = Mutation::Kind::delete_from_family;
  std::string out;
  encode_row_commit(out, "row", sets);
  return out;
}

TableSchema schema_seed() {
  TableSchema schema;
  schema.id = TableId{3};
  schema.name = "table";
  schema.families.resize(2);
  schema.families[0].name = "f";
  schema.families[1].name = "g";
  return schema;
}

std::string backup_seed() {
  BackupFile file;
  file.source = std::string(32, 'a');
  file.program = "1";
  file.blobs = {{BlobId{5}, 100, 7}};
  file.entries[kNodeKey] = {.version = 1, .state = encode_node_state({}), .items = {}};
  const ManifestKey table{ManifestKey::Kind::table, 3};
  file.entries[table] = {
      .version = 2, .state = encode_table_state(schema_seed(), std::nullopt), .items = {}};
  return encode_backup(file);
}

std::vector<std::string> stored_seeds() {
  FilterBuilder builder;
  for (const Bytes row : {"a", "b", "c"}) builder.add(row_hash(row));
  TableFooter foot;
  foot.blob = BlobId{1};
  foot.meta = {24, 2000};
  foot.index = {2024, 2000};
  std::string raw_size;
  put_u32(raw_size, 100);
  TableItem item;
  item.meta.smallest_key = "a";
  const AlignedBuffer head =
      encode_file_header(FileHeader{RecordFileKind::log, 1, 2, 1u << 20, {}});
  std::vector<std::string> seeds = {
      chosen(0, block_seed()),
      chosen(1, std::string("a\0ab\0abc\0abd\0b", 14)),
      chosen(2, chosen(1, raw_size + std::string("\x1f"
                                                 "a\1\0\x50"
                                                 "aaaaa",
                                                 10))),
      chosen(2, chosen(2, std::string("\x28\xb5\x2f\xfd\x20\x02\x11\0\0ab", 11))),
      chosen(3, facts_seed()),
      chosen(4, builder.finish(10)),
      chosen(5, encode_ranges({{"a", "b", CommitStamp{3}}, {"c", "", CommitStamp{4}}})),
      chosen(6, encode_table_footer(foot, 4096 - kTableFooterBytes)),
      chosen(7, commit_seed()),
      chosen(8, block_seed().substr(30, 40)),
      chosen(9, encode_table_item(item)),
      chosen(9, encode_format({.version = 2, .id = std::string(32, 'a')})),
      chosen(10, encode_table_state(schema_seed(), DropMark{5, 6})),
      chosen(10, encode_table_state(schema_seed(), std::nullopt)),
      chosen(11, head.bytes(0, kFileHeaderBytes)),
      chosen(13, backup_seed()),
      chosen(12, chosen(2, std::string("\1\1\1r\1\0\1f\1q\2\1v", 13))),
  };
  for (const std::string& state :
       {encode_node_state({}), encode_tablet_state({}), encode_clock_state({}),
        encode_audit_state({}), encode_audit_entry({})}) {
    seeds.push_back(chosen(9, state));
  }
  return seeds;
}

}  // namespace

const FuzzTarget kStoredTarget = {"stored", &fuzz_stored, &stored_seeds};

}  // namespace cellar::fuzz
