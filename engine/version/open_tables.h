// OpenTables: the open tables of a shard, one reader per blob for any number of the shard's
// tablets. A reader is closed when its last holder releases it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <utility>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "engine/sstable/table_reader.h"

namespace cellar::engine {

template <class T>
using ShardCounted = boost::intrusive_ref_counter<T, boost::thread_unsafe_counter>;
template <class T>
using Ref = boost::intrusive_ptr<T>;

class OpenTables;

class OpenTable final : public ShardCounted<OpenTable> {
 public:
  OpenTable(OpenTables& among, std::unique_ptr<TableReader> reader)
      : among_(among), reader_(std::move(reader)) {}
  ~OpenTable();
  TableReader& reader() const { return *reader_; }

 private:
  OpenTables& among_;
  std::unique_ptr<TableReader> reader_;
};

// Owned by one shard; must outlive the references it returns.
class OpenTables {
 public:
  // Null if the blob is not open.
  Ref<OpenTable> find(BlobId blob) const {
    const auto it = open_.find(blob);
    return it == open_.end() ? nullptr : it->second;
  }
  // Returns the reader that is open already if another task was faster.
  Ref<OpenTable> add(std::unique_ptr<TableReader> reader) {
    if (Ref<OpenTable> open = find(reader->id())) return open;
    Ref<OpenTable> added(new OpenTable(*this, std::move(reader)));
    open_[added->reader().id()] = added.get();
    return added;
  }
  uint64_t file_bytes() const {
    uint64_t sum = 0;
    for (const auto& [blob, table] : open_) sum += table->reader().meta().file_bytes;
    return sum;
  }
  size_t metadata_bytes() const {
    size_t sum = 0;
    for (const auto& [blob, table] : open_) sum += table->reader().memory_bytes();
    return sum;
  }

 private:
  friend class OpenTable;
  absl::flat_hash_map<BlobId, OpenTable*> open_;
};

inline OpenTable::~OpenTable() { among_.open_.erase(reader_->id()); }

}  // namespace cellar::engine
