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

const TableEntry* TableMap::find(Bytes name) const { return by_name_.find(name); }

const TableEntry* TableMap::find(TableId id) const { return by_id_.find(id); }

void TableMap::put(TableEntry entry) {
  auto shared = std::make_shared<const TableEntry>(std::move(entry));
  by_name_.put(shared->schema.name, shared);
  by_id_.put(shared->schema.id, shared);
}

void TableMap::put_all(std::vector<TableEntry> entries) {
  if (by_name_.size() != 0) {
    for (TableEntry& entry : entries) put(std::move(entry));
    return;
  }
  std::vector<ByName::Item> names;
  std::vector<TablesByKey<TableId>::Item> ids;
  for (TableEntry& entry : entries) {
    auto shared = std::make_shared<const TableEntry>(std::move(entry));
    names.emplace_back(shared->schema.name, shared);
    ids.emplace_back(shared->schema.id, shared);
  }
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(names.begin(), names.end(), by_key);
  std::sort(ids.begin(), ids.end(), by_key);
  by_name_.fill(std::move(names));
  by_id_.fill(std::move(ids));
}

void TableMap::erase(Bytes name) {
  const TableEntry* entry = find(name);
  if (entry == nullptr) return;
  const TableId id = entry->schema.id;
  by_name_.erase(name);
  by_id_.erase(id);
}

}  // namespace cellar::engine
