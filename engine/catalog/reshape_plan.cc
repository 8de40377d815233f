#include "engine/catalog/reshape_plan.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// The state that a child inherits from its parents; id, rows and tables are set by the caller.
TabletState inherit(const std::vector<QuiescedTablet>& parents) {
  TabletState state;
  const TabletState& first = parents.front().state;
  state.table = first.table;
  state.home = first.home;
  state.next_run = first.next_run;
  state.epoch = first.epoch;
  CommitStamp last;
  for (const QuiescedTablet& parent : parents) {
    state.epoch = std::max(state.epoch, parent.state.epoch);
    state.next_run = std::max(state.next_run, parent.state.next_run);
    last = std::max(last, parent.last_stamp);
  }
  state.epoch = Epoch{state.epoch.value() + 1};
  state.created = last;
  state.last_flushed = last;
  return state;
}

VersionEdit put_child(const TabletSeed& child, uint64_t expected, bool with_tables) {
  VersionEdit edit = put_state(key_of(child.id), expected, encode_tablet_state(child.state));
  if (!with_tables) return edit;
  for (const TableItem& table : child.tables) {
    edit.put_items.emplace_back(table.meta.blob.value(), encode_table_item(table));
  }
  return edit;
}

// Marks the blobs that several children name; those that were marked in a parent stay so. All are
// counted, because the parents' readers remain for a while.
void mark_shared(std::vector<TabletSeed>& children) {
  absl::flat_hash_map<BlobId, size_t> names;
  for (const TabletSeed& child : children) {
    for (const TableItem& table : child.tables) ++names[table.meta.blob];
  }
  for (TabletSeed& child : children) {
    for (TableItem& table : child.tables) {
      table.shared |= names.at(table.meta.blob) > 1;
      table.counted = true;
    }
  }
}

}  // namespace

std::vector<TabletId> Reshaping::parents() const {
  std::vector<TabletId> ids;
  for (size_t i = first; i < first + count; ++i) ids.push_back(entry.tablets[i].id);
  return ids;
}

Result<void> check_room_for_split(const TableEntry& table) {
  if (table.tablets.size() < kMaxTablets) return {};
  return fail(Errc::failed_precondition, "table '{}' has {} tablets; at most {} are allowed",
              table.schema.name, table.tablets.size(), kMaxTablets);
}

Result<std::vector<TableItem>> unite(std::vector<TableItem> left, std::vector<TableItem> right) {
  for (TableItem& item : right) {
    const auto same = std::find_if(left.begin(), left.end(), [&item](const TableItem& other) {
      return other.meta.blob == item.meta.blob;
    });
    if (same == left.end()) {
      left.push_back(std::move(item));
      continue;
    }
    if (same->rows.end.empty() || same->rows.end != item.rows.start) {
      return fail(Errc::failed_precondition,
                  "blob {:016x} holds rows before '{}' and from '{}' on, and deleted ones between "
                  "them: compact one of the tablets first",
                  item.meta.blob.value(), escape_bytes(same->rows.end),
                  escape_bytes(item.rows.start));
    }
    same->rows.end = item.rows.end;
    same->shared |= item.shared;
  }
  return left;
}

Result<ReshapePlan> plan_edit(const Catalog& catalog, const Reshaping& reshaping,
                              const std::vector<QuiescedTablet>& parents, LogSpan span) {
  ReshapePlan plan;
  plan.node = catalog.node();
  TabletState state = inherit(parents);
  state.spans = {span};
  if (reshaping.keeps_id) state.home = reshaping.to.value();
  std::vector<const std::vector<RangeToken>*> tokens;
  for (const QuiescedTablet& parent : parents) tokens.push_back(&parent.state.range_tokens);
  for (size_t i = 0; i < reshaping.ranges.size(); ++i) {
    TabletSeed child;
    child.schema = reshaping.entry.schema;
    child.state = state;
    child.state.start = reshaping.ranges[i].start;
    child.state.end = reshaping.ranges[i].end;
    child.state.range_tokens = inherit_tokens(tokens, reshaping.ranges[i], state.created);
    child.id = parents.front().id;
    if (!reshaping.keeps_id) {
      child.id = plan.node.next_tablet;
      plan.node.next_tablet = TabletId{child.id.value() + 1};
    }
    for (const QuiescedTablet& parent : parents) {
      TRY(child.tables, unite(std::move(child.tables), parent.parts[i]));
    }
    // A tablet that keeps its id keeps its items in the manifest.
    CHECK(!reshaping.keeps_id || child.tables.size() == parents.front().blobs.size(),
          "tablet {} moves with {} of its {} tables", child.id, child.tables.size(),
          parents.front().blobs.size());
    plan.children.push_back(std::move(child));
  }
  mark_shared(plan.children);
  if (!reshaping.keeps_id) {
    plan.edit.changes.push_back(
        put_state(kNodeKey, catalog.node_version(), encode_node_state(plan.node)));
    for (const QuiescedTablet& parent : parents) {
      plan.edit.changes.push_back(remove_key(key_of(parent.id), parent.version));
    }
  }
  for (const TabletSeed& child : plan.children) {
    const uint64_t expected = reshaping.keeps_id ? parents.front().version : kAbsent;
    plan.edit.changes.push_back(put_child(child, expected, !reshaping.keeps_id));
  }
  return plan;
}

}  // namespace cellar::engine
