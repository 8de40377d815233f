// TabletTable: one tablet's use of a table on disk: its slice, and the tablet's reference to the
// blob. Held by versions. It becomes obsolete when no manifest entry of this tablet names it any
// more, and releases its reference when the last version that holds it is destroyed: then the blob
// is removed, or its reference count falls (obsolete_blobs.h).
#pragma once

#include <utility>

#include "engine/files/obsolete_blobs.h"
#include "engine/manifest/table_item.h"
#include "engine/sstable/table_slice.h"
#include "engine/version/open_tables.h"

namespace cellar::engine {

class TabletTable final : public ShardCounted<TabletTable> {
 public:
  TabletTable(TableItem item, Ref<OpenTable> table, ObsoleteBlobs& ends)
      : item_(std::move(item)),
        table_(std::move(table)),
        slice_(table_->reader(), item_.rows),
        ends_(ends),
        end_(item_.meta.blob) {}
  ~TabletTable() {
    table_.reset();
    if (!obsolete_) return;
    ends_.gone(*this);
    if (item_.counted) {
      ends_.release_shared(end_);
    } else {
      ends_.remove(end_);
    }
  }

  const TableItem& item() const { return item_; }
  const TableMeta& meta() const { return item_.meta; }
  BlobId blob() const { return item_.meta.blob; }
  const TableSlice& slice() const { return slice_; }
  const Ref<OpenTable>& table() const { return table_; }
  // Damage was found in it since it was opened: merges exclude it until the next start.
  bool is_damaged() const { return slice_.table().damage() != nullptr; }
  const Error* damage() const { return slice_.table().damage(); }
  // What rows its range deletes cover is not known any more: every tablet that may have some is
  // lost.
  bool hides_range_deletes() const { return slice_.table().is_lost() && meta().range_deletes > 0; }
  // Another tablet, or another shard's part of this one, names the blob too: BlobRefCounts counts
  // both.
  void set_counted() { item_.counted = true; }
  // A complete verification that began at this time has found no damage.
  void verified(int64_t at_us) { item_.verified_us = at_us; }
  // REQUIRES: it was in no version, so it has no readers.
  void mark_obsolete() { obsolete_ = true; }
  // It belonged to that tablet until now; remaining readers pin it.
  void mark_obsolete(TableId table, TabletId tablet, int64_t now_us) {
    obsolete_ = true;
    end_.table = table;
    end_.tablet = tablet;
    end_.bytes = item_.meta.file_bytes;
    end_.since_us = now_us;
    ends_.obsolete(*this, end_);
  }

 private:
  TableItem item_;
  Ref<OpenTable> table_;
  TableSlice slice_;
  ObsoleteBlobs& ends_;
  ObsoleteBlob end_;
  bool obsolete_ = false;
};

}  // namespace cellar::engine
