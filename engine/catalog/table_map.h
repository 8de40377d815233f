// TableMap: the tables, their tablets, and the shard of every tablet. A value: each shard has its
// own copy and replaces it when the catalog publishes a newer version. Copies share immutable
// contents (tables_by_key.h), so a copy costs as much as a pointer; a change costs a copy of the
// changed table and one pointer per few dozen tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/tables_by_key.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "io/loop/shard.h"

namespace cellar::engine {

struct TabletDescriptor {
  TabletId id;
  TableId table;
  Epoch epoch;
  ShardId shard;      // serving shard
  std::string start;  // first row, inclusive; empty: from the beginning
  std::string end;    // exclusive; empty: to the end
  // Writes to it wait: it is being sealed for a reshape (reshape.h), and a newer map will redirect
  // them. A write sent nevertheless may be ABORTED. Reads continue.
  bool held = false;
};

struct TableEntry {
  TableSchema schema;
  std::vector<TabletDescriptor>
      tablets;  // sorted by start; they cover all rows without gap or overlap

  // The tablet that contains `row`; always exists.
  const TabletDescriptor& locate(Bytes row) const;
};

class TableMap {
 public:
  using ByName = TablesByKey<std::string>;

  uint64_t version = 0;
  const TableEntry* find(Bytes name) const;
  const TableEntry* find(TableId id) const;
  const ByName& tables() const { return by_name_; }
  void put(TableEntry entry);
  void put_all(std::vector<TableEntry> entries);
  void erase(Bytes name);

 private:
  ByName by_name_;
  TablesByKey<TableId> by_id_;
};

// Called on its shard, synchronously, whenever that shard's TableMap was replaced.
class TableMapWatcher {
 public:
  virtual void table_map_changed() = 0;

 protected:
  ~TableMapWatcher() = default;
};

}  // namespace cellar::engine
