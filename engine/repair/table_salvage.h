// TableSalvage: reads what is intact of one table, block by block.
//
// A table needs its footer and its index (of an index in parts the top level) to be read at all.
// Everything else may be damaged by itself: a data block or a part of the index loses its rows, a
// filter or the section of an index loses nothing, range deletes lose the deletes. Entries are only
// those of blocks with a valid checksum, well-formed and in ascending order, so a table writer
// accepts them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/model/read_spec.h"
#include "engine/sstable/format.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob_store.h"

namespace cellar::engine {

// The rows of an entry key, or of a separator, as bounds that are never too narrow.
std::string first_row_at(Bytes separator);
std::string row_end_before(Bytes separator);  // the first row that no key before it has
// The rows between the first and the last key of a table; one unbounded range if it has no keys.
KeyRange rows_of(const TableMeta& meta);

class TableSalvage {
 public:
  // Lost ranges that one file is told with; further ones widen the last.
  static constexpr size_t kMostRanges = 1000;
  static constexpr size_t kWindowBytes = 1u << 20;
  static constexpr size_t kSectionPieceBytes = 256u << 10;

  struct Entry {
    std::string key;
    Bytes value;
  };

  // `blob` must outlive it. `known`: what a manifest says of the table, for a table whose own meta
  // is lost; null: nothing.
  explicit TableSalvage(Blob& blob, const TableMeta* known = nullptr) : blob_(blob) {
    if (known != nullptr) known_ = *known;
  }

  // Reads everything but the data blocks.
  Async<void> open();
  // After open(): entries can be read. Otherwise damage() says why not.
  bool readable() const { return readable_; }
  // Loads the next intact data block; false: there is none. REQUIRES: readable().
  Async<bool> next_block();
  const std::vector<Entry>& entries() const { return entries_; }  // of that block

  // Empty: lost and unknown.
  const std::optional<TableMeta>& meta() const { return meta_; }
  const std::vector<RangeTombstone>& range_deletes() const { return ranges_; }
  bool range_deletes_lost() const { return ranges_lost_; }
  bool index_in_parts() const { return footer_.index_in_parts; }

  // The first damage found so far; empty: none.
  const std::string& damage() const { return damage_; }
  // Of the blocks passed so far.
  const std::vector<KeyRange>& lost_rows() const { return lost_rows_; }
  uint64_t lost_blocks() const { return lost_blocks_; }
  uint64_t lost_bytes() const { return lost_bytes_; }

 private:
  struct Place {
    std::string separator;
    BlockHandle handle;
    uint32_t raw_bytes = 0;
    bool lost = false;  // a part of the index that cannot be read: all of its blocks
    uint64_t blocks = 1;
  };

  void note(std::string damage);
  Async<Result<std::string>> read(uint64_t offset, size_t size);
  Async<Result<std::string>> block_at(BlockHandle handle);
  Async<void> open_tail();
  Async<void> open_meta();
  Async<Result<TableMeta>> read_meta();
  void place_sections();
  Async<void> check_section(const IndexSection& section);
  Async<void> open_ranges();
  Async<void> check_filter(BlockHandle handle);
  Async<void> open_index();
  Async<void> open_parts(std::string contents);
  Result<void> take_entries(const Place& place);
  void lose(size_t place);

  Blob& blob_;
  std::optional<TableMeta> known_;
  bool readable_ = false;
  std::string damage_;
  TableFooter footer_;
  std::optional<TableMeta> meta_;
  std::string dictionary_;
  std::vector<RangeTombstone> ranges_;
  bool ranges_lost_ = false;
  std::vector<IndexSection> sections_;  // with entries
  uint64_t data_end_ = 0;
  std::vector<Place> places_;
  size_t next_ = 0;
  std::string contents_;  // of the current block
  std::vector<Entry> entries_;
  std::string last_key_;
  std::string window_;  // bytes of the blob from window_at_ on
  uint64_t window_at_ = 0;
  uint64_t narrow_until_ = 0;  // up to here a window cannot be read: blocks are read one by one
  std::vector<KeyRange> lost_rows_;
  size_t last_lost_ = SIZE_MAX;
  uint64_t lost_blocks_ = 0;
  uint64_t lost_bytes_ = 0;
};

}  // namespace cellar::engine
