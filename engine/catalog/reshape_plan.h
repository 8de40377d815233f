// What a reshape puts in place of what: pure functions over values, between the sealing of the
// parents and the edit. See reshape.h.
#pragma once

#include <string>
#include <vector>

#include "engine/catalog/catalog.h"
#include "engine/manifest/table_item.h"

namespace cellar::engine {

// A parent as its shard sealed it. Nothing of it is unflushed.
struct SealedTablet {
  TabletId id;
  TabletState state;
  uint64_t version = kAbsent;  // of its manifest entry
  CommitStamp last_stamp;      // children stamp above it
  std::vector<BlobId> blobs;   // that it names
  // For each child the tables that hold something of it, with the rows that are the parent's and
  // the child's.
  std::vector<std::vector<TableItem>> parts;
};

struct Reshaping {
  TableEntry entry;              // of the table: parents at first, then children
  size_t first = 0;              // in entry.tablets: where parents stand
  size_t count = 0;              // and how many
  std::vector<KeyRange> ranges;  // of the children, in order
  ShardId from;                  // of all parents
  ShardId to;                    // of all children
  bool keeps_id = false;         // a move: the child is the parent in its next epoch

  std::vector<TabletId> parents() const;
};

struct ReshapeEdit {
  NodeState node;                    // with the ids taken
  std::vector<TabletSeed> children;  // versions not yet known
  std::vector<SubjectEdit> edits;    // those of the children are the last
};

// FAILED_PRECONDITION when the table has as many tablets as it may have.
Result<void> check_room_for_split(const TableEntry& table);

// FAILED_PRECONDITION when a table lies on both sides of rows that were deleted in between.
// `span` is the rest of the open log of reshaping.to.
Result<ReshapeEdit> plan_edit(const Catalog& catalog, const Reshaping& reshaping,
                              const std::vector<SealedTablet>& parents, LogSpan span);

// One list of two neighbours' tables, in which each blob stands once.
Result<std::vector<TableItem>> unite(std::vector<TableItem> left, std::vector<TableItem> right);

}  // namespace cellar::engine
