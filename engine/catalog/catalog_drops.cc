// The catalog's part in drops and restorations.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/catalog/catalog.h"

namespace cellar::engine {
namespace {

int64_t add_saturating(int64_t a, int64_t b) {  // neither is negative
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

int64_t longest_undo_window_us(const TableSchema& schema) {
  int64_t longest_us = 0;
  for (const FamilySchema& family : schema.families) {
    longest_us = std::max(longest_us, family.undo_window_us);
  }
  return longest_us;
}

}  // namespace

Result<Catalog::Drop> Catalog::plan_drop(Bytes name, int64_t now_us) const {
  const TableEntry* entry = map_.find(name);
  if (entry == nullptr) {
    return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
  }
  Drop drop;
  drop.entry = *entry;
  const TableSchema& schema = entry->schema;
  const uint64_t version = table_versions_.at(schema.id);
  const int64_t window_us = longest_undo_window_us(schema);
  if (window_us == 0) {
    drop.table_edit = remove_subject(subject_of(schema.id), version);
  } else {
    drop.mark = DropMark{now_us, add_saturating(now_us, window_us)};
    drop.table_edit =
        put_state(subject_of(schema.id), version, encode_table_state(schema, drop.mark));
  }
  return drop;
}

void Catalog::dropped(const Drop& drop, uint64_t version) {
  const TableId id = drop.entry.schema.id;
  table_versions_.at(id) = version;
  map_.erase(drop.entry.schema.name);
  ++map_.version;
  dropped_[id] = {.entry = drop.entry, .mark = *drop.mark};
}

Result<Catalog::Restoration> Catalog::plan_restore(Bytes name, int64_t now_us) const {
  const DroppedTable* newest = nullptr;
  for (const auto& [id, table] : dropped_) {
    if (table.entry.schema.name != name || now_us > table.mark.restorable_until_us) continue;
    if (newest == nullptr || table.mark.dropped_us >= newest->mark.dropped_us) newest = &table;
  }
  if (newest == nullptr) {
    return fail(Errc::not_found, "there is no dropped table '{}' that could be restored",
                escape_bytes(name));
  }
  if (map_.find(name) != nullptr) {
    return fail(Errc::already_exists,
                "table '{}' exists: drop it before the one that was dropped earlier is restored",
                escape_bytes(name));
  }
  const TableSchema& schema = newest->entry.schema;
  return Restoration{newest->entry, put_state(subject_of(schema.id), table_versions_.at(schema.id),
                                              encode_table_state(schema, std::nullopt))};
}

void Catalog::restored(const Restoration& restoration, uint64_t version) {
  const TableId id = restoration.entry.schema.id;
  table_versions_.at(id) = version;
  dropped_.erase(id);
  map_.put(restoration.entry);
  ++map_.version;
}

std::optional<Catalog::Drop> Catalog::plan_end(int64_t now_us) const {
  for (const auto& [id, table] : dropped_) {
    if (now_us <= table.mark.restorable_until_us) continue;
    Drop drop;
    drop.entry = table.entry;
    drop.table_edit = remove_subject(subject_of(id), table_versions_.at(id));
    return drop;
  }
  return std::nullopt;
}

void Catalog::ended(const Drop& drop) {
  const TableId id = drop.entry.schema.id;
  table_versions_.erase(id);
  if (dropped_.erase(id) != 0) return;
  map_.erase(drop.entry.schema.name);
  ++map_.version;
}

int64_t Catalog::next_end_us(int64_t margin_us) const {
  int64_t first_us = INT64_MAX;
  for (const auto& [id, table] : dropped_) {
    first_us = std::min(first_us, table.mark.restorable_until_us);
  }
  return add_saturating(first_us, margin_us + 1);
}

}  // namespace cellar::engine
