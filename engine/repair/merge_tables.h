// TableMerge: all entries of many tables as one run, none dropped.
//
// An entry that several tables have is written once, as the first of them has it. More than
// kMostSources tables are merged in several rounds, each of which makes one table of so many.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/repair/commit_tables.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

struct MergeSource {
  BlobStore* store = nullptr;
  BlobId id;
};

class TableMerge {
 public:
  static constexpr size_t kMostSources = 256;          // open at a time
  static constexpr uint64_t kTableBytes = 256u << 20;  // an output ends after a row beyond this
  static constexpr size_t kCacheBytes = 4u << 20;
  // Sources of more than this get their index in parts.
  static constexpr uint64_t kWholeIndexBytes = 64u << 20;

  TableMerge(ShardExecutor executor, BlobStore& to, RepairIds& ids);

  // `sources`: newest first; all are intact. Families of the entries are added to `families`.
  Async<Result<std::vector<TableMeta>>> run(std::vector<MergeSource> sources,
                                            TableWriterOptions format,
                                            std::set<std::string>& families);

 private:
  using Tables = std::vector<std::unique_ptr<TableReader>>;

  Async<Result<std::vector<TableMeta>>> merge_some(std::vector<MergeSource> sources,
                                                   const TableWriterOptions& format,
                                                   uint64_t table_bytes,
                                                   std::set<std::string>& families);
  Async<Result<std::vector<TableMeta>>> merge(std::vector<MergeSource> sources,
                                              TableWriterOptions format, uint64_t table_bytes,
                                              std::set<std::string>& families);
  Async<Result<std::vector<TableMeta>>> write(Tables& tables, TableWriterOptions format,
                                              uint64_t table_bytes,
                                              std::set<std::string>& families);

  BlobStore& to_;
  RepairIds& ids_;
  BlockCache cache_;
  BlockLoader loader_;
};

}  // namespace cellar::engine
