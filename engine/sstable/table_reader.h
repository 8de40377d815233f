// TableReader: an open table. Index, filter, range deletes and meta are in memory, verified;
// data blocks come through the shard's loader and cache. One shard.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/counted_blob.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/row_probe.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/store/blob_store.h"
#include "io/runtime/background.h"

namespace cellar::engine {

class TableReader {
 public:
  // What the first read of the tail takes; larger tails take further ones.
  static constexpr size_t kTailReadBytes = 64 * 1024;
  // Parts of the tail that are longer are read in pieces of that.
  static constexpr size_t kPieceBytes = 256 * 1024;

  // DATA_LOSS naming blob and offset when anything but the data blocks is damaged;
  // FAILED_PRECONDITION when the table is of a newer format. `loader` must outlive the reader. What
  // is long in a large table is done in slices of `work`, which has none at hand; without one, at
  // once.
  static Async<Result<std::unique_ptr<TableReader>>> open(std::unique_ptr<Blob> blob,
                                                          BlockLoader& loader,
                                                          Background::Work* work = nullptr);
  ~TableReader();  // REQUIRES: no iterator on it, no load of it under way but AheadLoads
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  BlobId id() const { return (*blob_)->id(); }
  const TableMeta& meta() const { return meta_; }  // file_bytes set
  const TableIndex& index() const { return index_; }
  const TableFooter& footer() const { return footer_; }
  const std::vector<StampedRange>& range_deletes() const { return ranges_; }
  // False only when no entry of the row is here. `hash` is row_hash() of the row's prefix. Says
  // nothing about range deletes.
  bool may_contain_row(uint64_t hash) const { return filter_.may_contain(hash); }
  // False only when no entry that matters to the read is here. Likewise.
  bool may_contain(const RowProbe& probe) const {
    return filter_.may_contain(probe.hash()) &&
           (!probe.has_columns() || may_contain_columns(probe));
  }
  // False only when no entry is here whose key among those of the columns' filter (row_probe.h) has
  // this row_hash().
  bool may_contain_key(uint64_t hash) const { return columns_.may_contain(hash); }
  // Index, filter and the rest; charged to the cache's budget while the reader lives.
  size_t memory_bytes() const { return memory_bytes_; }

  // Data block i, if it is cached.
  BlockRef cached_block(size_t i) {
    if (BlockRef block = loader_.cache().find(slots_[i])) return block;
    return loader_.cache().find({id(), index_.handle(i).offset}, slots_[i]);
  }

  // Data block i is cached. Does not count as asked for.
  bool has_cached_block(size_t i) const {
    return loader_.cache().contains({id(), index_.handle(i).offset});
  }

  // The first damage that was met while its blocks were read; null: none.
  const Error* damage() const { return damage_ ? &*damage_ : nullptr; }
  void note_damage(const Error& error) {
    if (!damage_ && error.code == Errc::data_loss) damage_ = error;
  }
  Blob& blob() { return **blob_; }
  // For reads that may outlast the table.
  CountedBlob::Ref share_blob() const { return blob_; }
  BlockLoader& loader() { return loader_; }

 private:
  TableReader(std::unique_ptr<Blob> blob, BlockLoader& loader)
      : blob_(new CountedBlob(std::move(blob))), loader_(loader) {}
  // Of the tail, the last bytes of the blob.
  struct Part;
  Async<Result<void>> load(Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> read(Part& part, Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_index(Part& part, Background::Work* work);
  Async<Result<void>> load_filter(const BlockHandle& handle, Filter& into, Bytes tail,
                                  uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_dictionary(Bytes tail, uint64_t tail_offset);
  uint64_t data_end() const;
  bool may_contain_columns(const RowProbe& probe) const;

  CountedBlob::Ref blob_;
  BlockLoader& loader_;
  TableFooter footer_;
  TableMeta meta_;
  TableIndex index_;
  Filter filter_;
  Filter columns_;  // what the meta says where it is
  std::vector<StampedRange> ranges_;
  std::unique_ptr<BlockSlot[]> slots_;  // one a data block
  size_t memory_bytes_ = 0;
  size_t dictionary_bytes_ = 0;  // that the loader holds
  std::optional<Error> damage_;
};

// `size` bytes of a blob, awaited.
Async<Result<std::string>> read_blob(Blob& blob, uint64_t offset, size_t size, IoClass io_class);

}  // namespace cellar::engine
