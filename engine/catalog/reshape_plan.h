// Plans of reshapes: pure functions over values, between the quiescing of the parents and the edit.
// See reshape.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/catalog/catalog.h"
#include "engine/manifest/table_item.h"

namespace cellar::engine {

// A quiesced parent. All of its data is flushed.
struct QuiescedTablet {
  TabletId id;
  TabletState state;
  uint64_t version = kAbsent;  // of its manifest entry
  CommitStamp last_stamp;      // the children's stamps are greater
  std::vector<BlobId> blobs;   // all blobs that it names
  std::set<BlobId> lost;       // of these, tables that could not be opened
  // Per child, the tables with data of it, and the rows that belong to both parent and child.
  std::vector<std::vector<TableItem>> parts;
};

struct Reshaping {
  TableEntry entry;              // the table: first with the parents, then with the children
  size_t first = 0;              // index of the first parent in entry.tablets
  size_t count = 0;              // number of parents
  std::vector<KeyRange> ranges;  // of the children, in order
  ShardId from;                  // shard of all parents
  ShardId to;                    // shard of all children
  bool keeps_id = false;         // a move: the child is the parent in its next epoch

  std::vector<TabletId> parents() const;
};

struct ReshapePlan {
  NodeState node;                    // with the ids taken
  std::vector<TabletSeed> children;  // versions unknown
  ReshapeEdit edit;                  // its changes of the children are last
};

// FAILED_PRECONDITION if the table has the maximum number of tablets.
Result<void> check_room_for_split(const TableEntry& table);

// FAILED_PRECONDITION if a table lies on both sides of rows that were deleted in between. `span` is
// the rest of the open log of reshaping.to.
Result<ReshapePlan> plan_edit(const Catalog& catalog, const Reshaping& reshaping,
                              const std::vector<QuiescedTablet>& parents, LogSpan span);

// The united list of two neighbours' tables; each blob occurs once.
Result<std::vector<TableItem>> unite(std::vector<TableItem> left, std::vector<TableItem> right);

}  // namespace cellar::engine
