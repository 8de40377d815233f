// TableMap: which tables exist, how each is cut into tablets, and where every tablet lives. A
// value: each shard holds its own copy and replaces it whole when the catalog publishes a newer
// version.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "io/runtime/shard.h"

namespace cellar::engine {

struct TabletDescriptor {
  TabletId id;
  TableId table;
  Epoch epoch;
  ShardId shard;      // where it is served
  std::string start;  // first row, inclusive; empty: from the beginning
  std::string end;    // exclusive; empty: to the end
};

struct TableEntry {
  TableSchema schema;
  std::vector<TabletDescriptor>
      tablets;  // sorted by start; they cover all rows without gap or overlap

  // The tablet that holds `row`; always one.
  const TabletDescriptor& locate(Bytes row) const;
};

class TableMap {
 public:
  uint64_t version = 0;
  const TableEntry* find(Bytes name) const;
  const TableEntry* find(TableId id) const;
  const std::map<std::string, TableEntry, std::less<>>& tables() const { return by_name_; }
  void put(TableEntry entry);
  void erase(Bytes name);

 private:
  std::map<std::string, TableEntry, std::less<>> by_name_;
  std::map<TableId, std::string> names_;
};

}  // namespace cellar::engine
