// TableItem: one table on disk in a tablet's manifest entry, by blob id: the facts about the table,
// and which of its rows belong to the tablet. A table written for the tablet belongs to it
// completely. After a split both parts refer to the table, each with its rows. After a merge of
// tablets the rows prevent deleted rows of one tablet from reappearing through a table that both
// shared.
#pragma once

#include <string>

#include "engine/model/read_spec.h"
#include "engine/sstable/table_meta.h"
#include "io/base/result.h"

namespace cellar::engine {

struct TableItem {
  static constexpr uint8_t kVersion = 4;

  TableMeta meta;
  KeyRange rows;  // both ends empty: the whole table
  // Trusted time at which it was written or the last complete verification began; 0: unknown.
  int64_t verified_us = 0;
  // Entries of other tablets may name the blob too: a split gave it to several, and a later merge
  // or move keeps the mark. Set in the edit that makes the other entries, and never cleared: a
  // rewrite of the rows makes a blob without it. Who does not see all tablets
  // (ManifestStore::has_all_tablets) must not remove a blob that has the mark.
  bool shared = false;
  // BlobRefCounts counts this reference, because this process has others to the blob: those of
  // `shared`, or of an earlier owner whose readers are still there. Not encoded.
  bool counted = false;
};

// See FORMATS.md, "Manifest". Decoding returns DATA_LOSS for invalid bytes and FAILED_PRECONDITION
// for another version.
std::string encode_table_item(const TableItem& item);
Result<TableItem> decode_table_item(Bytes encoded);

}  // namespace cellar::engine
