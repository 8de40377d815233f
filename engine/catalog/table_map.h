// TableMap: which tables exist, how each is cut into tablets, and where every tablet lives. A
// value: each shard holds its own copy and replaces it whole when the catalog publishes a newer
// version. Copies share what they hold, which never changes, so a copy costs as much as a pointer;
// a change costs one pointer a table and a copy of the table changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "io/loop/shard.h"

namespace cellar::engine {

struct TabletDescriptor {
  TabletId id;
  TableId table;
  Epoch epoch;
  ShardId shard;      // where it is served
  std::string start;  // first row, inclusive; empty: from the beginning
  std::string end;    // exclusive; empty: to the end
  // Writes to it wait: it is being sealed for a reshape (reshape.h), and a newer map will say where
  // they go. One that comes all the same may be ABORTED. Reads go on.
  bool held = false;
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
  using ByName = std::map<std::string, std::shared_ptr<const TableEntry>, std::less<>>;

  TableMap() : maps_(std::make_shared<const Maps>()) {}

  uint64_t version = 0;
  const TableEntry* find(Bytes name) const;
  const TableEntry* find(TableId id) const;
  const ByName& tables() const { return maps_->by_name; }
  void put(TableEntry entry);
  void put_all(std::vector<TableEntry> entries);
  void erase(Bytes name);

 private:
  struct Maps {
    ByName by_name;
    std::map<TableId, std::shared_ptr<const TableEntry>> by_id;
  };

  std::shared_ptr<const Maps> maps_;  // shared between shards, hence const
};

// Told on its shard, in a plain call, whenever that shard's TableMap was replaced.
class TableMapWatcher {
 public:
  virtual void table_map_changed() = 0;

 protected:
  ~TableMapWatcher() = default;
};

}  // namespace cellar::engine
