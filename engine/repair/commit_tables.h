// CommitTables: the commits that a repair found in logs, written into tables, as a flush does.
//
// Invariants
//   1. A target's commits come in the order of its log: its runs are then numbered as a node's.
//   2. Memory is bounded: rest() writes all memtables once together they have as many bytes as
//   allowed.
//   3. No entry is dropped or changed. Tokens of rows are entries; those of range deletes are kept
//      in the target, which the manifest names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/manifest/range_token.h"
#include "engine/memtable/memtable.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/table_writer.h"
#include "engine/store/blob_store.h"

namespace cellar::engine {

// Numbers for the blobs that a repair writes.
class RepairIds {
 public:
  explicit RepairIds(SessionEpoch session) : session_(session) {}
  Result<BlobId> next();  // RESOURCE_EXHAUSTED

 private:
  SessionEpoch session_;
  uint32_t counter_ = 0;
};

// Ends a table; abandons it if `before` or the end is an error, which is returned.
Async<Result<TableMeta>> finish_table(TableWriter& writer, Result<void> before);

// A tablet, or a table whose tablets are unknown.
struct CommitTarget {
  TableWriterOptions format = {};  // of its tables; `run` is that of the next one
  CommitStamp after = {};          // commits up to here are in tables already
  CommitStamp last = {};           // of its commits; 0: none
  uint64_t commits = 0;
  std::map<std::string, RangeToken> range_tokens = {};
  std::vector<TableMeta> written = {};
  std::unique_ptr<Memtable> memtable = {};
};

class CommitTables {
 public:
  CommitTables(BlobStore& to, RepairIds& ids, size_t memtable_bytes)
      : to_(to), ids_(ids), memtable_bytes_(memtable_bytes) {}

  // False if the payload is no commit.
  bool add(CommitTarget& target, CommitStamp stamp, Bytes payload);
  // Writes what is in memory if it is much.
  Async<Result<void>> rest();
  Async<Result<void>> finish();

 private:
  Async<Result<void>> write_all();
  Async<Result<void>> write(CommitTarget& target, const Memtable& memtable);

  BlobStore& to_;
  RepairIds& ids_;
  const size_t memtable_bytes_;
  std::vector<CommitTarget*> open_;  // those with a memtable
};

}  // namespace cellar::engine
