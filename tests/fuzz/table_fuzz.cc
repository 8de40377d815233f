// Whole tables with damage that their checksums do not show: a few bytes of a table are changed and
// the checksums are recomputed, as a defective writer would leave them. Readers return an error or
// entries; they never abort.
#include "engine/index/index_set.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_section.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/table_fixture.h"

namespace cellar::fuzz {

using namespace engine;  // NOLINT(google-build-using-namespace): nearly every name here is its

namespace {

// A whole table and the positions of its blocks, without the footer.
struct Template {
  std::string bytes;
  std::vector<BlockHandle> blocks;
};

// Blocks are contiguous, so a matching checksum ends a block.
std::vector<BlockHandle> blocks_of(Bytes table) {
  std::vector<BlockHandle> blocks;
  const size_t end = table.size() - kTableFooterBytes;
  for (size_t at = kTableHeaderBytes; at < end;) {
    size_t size = kBlockTrailerBytes;
    while (at + size <= end && !check_block(table.substr(at, size), kBlob, at)) ++size;
    CHECK(at + size <= end, "no block at {} of a table of {} bytes", at, table.size());
    blocks.push_back({at, static_cast<uint32_t>(size)});
    at += size;
  }
  return blocks;
}

std::vector<IndexSchema> two_indexes() {
  IndexSchema by_value;
  by_value.id = 4;
  by_value.family = "family";
  by_value.parts = {cellar::IndexPart::value, cellar::IndexPart::time};
  IndexSchema by_time;
  by_time.id = 7;
  by_time.family = "family";
  by_time.qualifier = "column3";
  by_time.parts = {cellar::IndexPart::time};
  return {by_value, by_time};
}

Template make_template(Compression compression, uint32_t filter_bits, size_t columns,
                       const std::vector<IndexSchema>& indexes = {}, size_t part_bytes = 0) {
  TableFixture f;
  std::map<std::string, std::string> entries;
  for (int row = 0; row < 24; ++row) {
    const std::string name = fmt::format("row{:02}", row);
    for (size_t column = 0; column < columns; ++column) {
      std::string key, value;
      append_cell(key, name, "family", fmt::format("column{}", column), 1000 + row, CommitStamp{9});
      append_cell_value(value, std::string(20, static_cast<char>('a' + row)), 9000 + row);
      entries.emplace(std::move(key), std::move(value));
    }
  }
  TableWriterOptions options = small_blocks(256);
  options.compression = compression;
  options.filter_bits_per_row = filter_bits;
  options.indexes = make_index_set(indexes);
  options.part_bytes = part_bytes;
  f.write(entries, options, {{"row03", "row05", CommitStamp{3}}});
  Template made{f.store.bytes(kBlob), {}};
  made.blocks = blocks_of(made.bytes);
  return made;
}

const std::vector<Template>& templates() {
  static const std::vector<Template> kAll = {
      make_template(Compression::none, 10, 1),
      make_template(Compression::none, 10, 6),
      make_template(Compression::lz4, 10, 6),
      make_template(Compression::zstd, 0, 30),
      make_template(Compression::none, 10, 6, two_indexes()),
      make_template(Compression::lz4, 10, 6, two_indexes(), 300)};
  return kAll;
}

// An edit takes this many bytes of the input: block, position (two), operation, operand.
constexpr size_t kEditBytes = 5;

void apply(Bytes edit, const std::vector<BlockHandle>& blocks, std::string& table) {
  const auto at = [edit](size_t i) { return static_cast<uint8_t>(edit[i]); };
  const size_t n = at(0) % (blocks.size() + 1);
  const bool footer = n == blocks.size();
  const size_t begin = footer ? table.size() - kTableFooterBytes : blocks[n].offset;
  // In a block also its type; in the footer the handles, the blob and the kind of index.
  const size_t size = footer ? 60 : blocks[n].size - sizeof(uint32_t);
  char& byte = table[begin + (at(1) | size_t{at(2)} << 8) % size];
  switch (at(3) % 3) {
    case 0:
      byte = edit[4];
      break;
    case 1:
      byte = static_cast<char>(byte + edit[4]);
      break;
    default:
      byte = static_cast<char>(byte ^ 1 << at(4) % 8);
  }
}

void make_right(const std::vector<BlockHandle>& blocks, std::string& table) {
  for (const BlockHandle& block : blocks) {
    const size_t covered = block.size - sizeof(uint32_t);
    const uint32_t crc =
        crc32c(Bytes(table).substr(block.offset, covered), crc_seed(kBlob.value(), block.offset));
    store_le(table.data() + block.offset + covered, crc);
  }
  constexpr size_t kCovered = 64;  // bytes of the footer under its checksum
  const size_t footer = table.size() - kTableFooterBytes;
  const uint32_t crc =
      crc32c(Bytes(table).substr(footer, kCovered), crc_seed(kBlob.value(), footer));
  store_le(table.data() + footer + kCovered, crc);
}

// From the first entry all entries; from other positions a few.
constexpr int kMostSteps = 1000;
constexpr int kFewSteps = 20;

void walk(TableFixture& f, EntryIterator& it, Step step, int most) {
  volatile size_t seen = 0;
  for (int i = 0; i < most && step == Step::ready; ++i) {
    seen = seen + it.key().size() + it.value().size();
    step = f.finish(it, it.next());
  }
  if (step == Step::failed) seen = seen + it.error().message.size();
}

void walk_back(TableFixture& f, EntryIterator& it, Bytes from, int most) {
  Step step = f.finish(it, it.seek_before(from));
  for (int i = 0; i < most && step == Step::ready; ++i) {
    const std::string key(it.key());
    step = f.finish(it, it.seek_before(key));
  }
}

void read_sections(TableFixture& f, TableReader& reader) {
  for (const IndexSection& section : reader.meta().sections) {
    if (section.root.size == 0) continue;
    SectionIterator it(reader, section);
    walk(f, it, f.finish(it, it.seek("")), kMostSteps);
    walk_back(f, it, std::string(20, '\xff'), kFewSteps);
    for (const Bytes key : {"bbb", "p", "\xff\xff\xff\xff\xff\xff\xfb\xff"}) {
      walk_back(f, it, key, kFewSteps);
      walk(f, it, f.finish(it, it.seek(key)), kFewSteps);
    }
  }
}

void read(TableFixture& f) {
  auto reader = f.try_open(kBlob);
  if (!reader) return;
  read_sections(f, **reader);
  for (const auto& options : {TableIteratorOptions(), TableIteratorOptions::for_compaction()}) {
    TableIterator it(**reader, options);
    walk(f, it, f.finish(it, it.seek("")), kMostSteps);
    for (const Bytes row : {"row03", "row20", "x"}) {
      std::string key;
      append_row_prefix(key, row);
      RowProbe probe;
      probe.aim(key);
      probe.add_column("family", "column3");
      (void)(*reader)->may_contain(probe);
      walk(f, it, f.finish(it, it.seek_before(key)), kFewSteps);
      walk(f, it, f.finish(it, it.seek(key)), kFewSteps);
    }
  }
}

void fuzz_table(Bytes input) {
  const Choice choice = choose(input, templates().size());
  const Template& whole = templates()[choice.number];
  std::string table = whole.bytes;
  for (Bytes edits = choice.rest; edits.size() >= kEditBytes; edits.remove_prefix(kEditBytes))
    apply(edits.substr(0, kEditBytes), whole.blocks, table);
  make_right(whole.blocks, table);
  TableFixture f;
  f.store.put(kBlob, std::move(table));
  read(f);
}

std::vector<std::string> table_seeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < templates().size(); ++i) {
    seeds.push_back(chosen(i, ""));
    const size_t last = templates()[i].blocks.size();
    for (const size_t block :
         {size_t{0}, last / 2, last - 6, last - 5, last - 4, last - 3, last - 2, last - 1, last})
      seeds.push_back(chosen(i, std::string{static_cast<char>(block), 1, 0, 1, 1}));
  }
  return seeds;
}

}  // namespace

const FuzzTarget kTableTarget = {"table", &fuzz_table, &table_seeds};

}  // namespace cellar::fuzz
