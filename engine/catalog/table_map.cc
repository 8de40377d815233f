#include "engine/catalog/table_map.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {

const TabletDescriptor& TableEntry::locate(Bytes row) const {
  const auto after =
      std::upper_bound(tablets.begin(), tablets.end(), row,
                       [](Bytes r, const TabletDescriptor& t) { return r < Bytes(t.start); });
  CHECK(after != tablets.begin(), "table '{}' has no tablet at its beginning", schema.name);
  return *std::prev(after);
}

const TableEntry* TableMap::find(Bytes name) const {
  const auto it = maps_->by_name.find(name);
  return it == maps_->by_name.end() ? nullptr : it->second.get();
}

const TableEntry* TableMap::find(TableId id) const {
  const auto it = maps_->by_id.find(id);
  return it == maps_->by_id.end() ? nullptr : it->second.get();
}

void TableMap::put(TableEntry entry) {
  std::vector<TableEntry> entries;
  entries.push_back(std::move(entry));
  put_all(std::move(entries));
}

void TableMap::put_all(std::vector<TableEntry> entries) {
  auto next = std::make_shared<Maps>(*maps_);
  for (TableEntry& entry : entries) {
    auto shared = std::make_shared<const TableEntry>(std::move(entry));
    next->by_name.insert_or_assign(shared->schema.name, shared);
    next->by_id.insert_or_assign(shared->schema.id, shared);
  }
  maps_ = std::move(next);
}

void TableMap::erase(Bytes name) {
  const TableEntry* entry = find(name);
  if (entry == nullptr) return;
  const TableId id = entry->schema.id;
  auto next = std::make_shared<Maps>(*maps_);
  next->by_name.erase(next->by_name.find(name));
  next->by_id.erase(id);
  maps_ = std::move(next);
}

}  // namespace cellar::engine
