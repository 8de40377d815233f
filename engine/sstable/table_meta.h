// TableMeta: facts about one table, used for planning. The writer collects them, the table has them
// in its meta block, and the manifest keeps a copy.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/iter/cell_profile.h"
#include "engine/iter/column_list.h"
#include "engine/iter/time_bounds.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "engine/sstable/format.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// The entries of an index in a table: a tree of blocks (index_section.h), and facts about them. A
// table that was written when its table had the index has a section of it, perhaps without entries.
struct IndexSection {
  uint64_t index = 0;   // IndexSchema::id
  BlockHandle root;     // size 0: no entries
  uint32_t levels = 0;  // of the tree; 1: the root has the entries
  uint64_t offset = 0;  // of its first block; blocks and root are contiguous
  uint64_t entries = 0;
  uint64_t skipped = 0;  // cells that an int64 index leaves out
  // Entries of cells up to this timestamp may be missing: they were past the index's own age.
  int64_t omitted_to_us = INT64_MIN;
  int64_t oldest_us = INT64_MAX;  // timestamps of the entries
  int64_t newest_us = INT64_MIN;
  uint32_t checksum = 0;  // CRC-32C of its bytes as stored

  uint64_t bytes() const { return root.size == 0 ? 0 : root.end() - offset; }
  bool operator==(const IndexSection&) const = default;
};

struct TableMeta {
  BlobId blob;
  uint64_t file_bytes = 0;  // not in the meta block, which is written before the size is known

  // Set by the writer's caller.
  TableId table;
  TabletId tablet;
  std::string tablet_start;  // rows [start, end) of the tablet at the time of writing
  std::string tablet_end;    // empty: unbounded
  uint64_t run = 0;          // order of the tablet's tables: a higher run is newer

  // Contents.
  uint64_t entries = 0;
  uint64_t rows = 0;
  uint64_t cells = 0;
  uint64_t row_deletes = 0;
  uint64_t family_deletes = 0;
  uint64_t column_deletes = 0;
  uint64_t range_deletes = 0;
  std::string smallest_key;  // empty if there are no entries
  std::string largest_key;
  CommitStamp min_stamp = kMaxStamp;  // over entries and range deletes
  CommitStamp max_stamp;
  TimeBounds bounds;  // of entries and range deletes
  // Every cell committed at or before this was alive then (retention/drop_policy.h); 0: unknown.
  CommitStamp gc_watermark;
  CellProfile profile;                         // of its cells
  ColumnList columns = ColumnList::unknown();  // of its cells
  BlockHandle column_filter;                   // size 0: none

  // Storage.
  uint64_t blocks = 0;
  uint64_t data_bytes = 0;  // stored size of the data blocks
  uint64_t key_bytes = 0;   // uncompressed
  uint64_t value_bytes = 0;
  uint32_t block_bytes = 0;                    // target, uncompressed
  Compression compression = Compression::lz4;  // zstd: used where it paid (block_packer.h)
  BlockHandle dictionary;                      // for Zstandard blocks; size 0: none
  std::vector<IndexSection> sections;          // by offset

  // The section of the index with that id; null: the table lacks its entries.
  const IndexSection* section_of(uint64_t index) const;

  // As `gc_watermark`, or later if everything in the table is newer.
  CommitStamp watermark() const {
    const uint64_t before = min_stamp.value() == 0 ? 0 : min_stamp.value() - 1;
    return std::max(gc_watermark, CommitStamp{before});
  }
  uint64_t deletes() const { return row_deletes + family_deletes + column_deletes; }
  // Approximate size of its heap memory.
  size_t heap_bytes() const;
  bool operator==(const TableMeta&) const = default;
};

// Fields by tag; unknown tags are skipped. A missing profile or list of columns is unknown, missing
// sections are none; any other missing field is damage. decode returns DATA_LOSS for invalid bytes.
std::string encode_table_meta(const TableMeta& meta);
Result<TableMeta> decode_table_meta(Bytes encoded);

}  // namespace cellar::engine
