#include "engine/table_map.h"

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
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &it->second;
}

const TableEntry* TableMap::find(TableId id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? nullptr : find(Bytes(it->second));
}

void TableMap::put(TableEntry entry) {
  names_[entry.schema.id] = entry.schema.name;
  std::string name = entry.schema.name;
  by_name_.insert_or_assign(std::move(name), std::move(entry));
}

void TableMap::erase(Bytes name) {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return;
  names_.erase(it->second.schema.id);
  by_name_.erase(it);
}

}  // namespace cellar::engine
