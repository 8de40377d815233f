// MergePlan: everything a flush or a compaction needs, fixed before it starts. The job touches no
// tablet state, so it may run concurrently with anything; the owner installs its result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compaction/pace.h"
#include "engine/iter/entry_iterator.h"
#include "engine/iter/range_delete.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "engine/retention/drop_policy.h"
#include "io/base/io_class.h"
#include "io/base/result.h"
#include "io/loop/background.h"

namespace cellar::engine {

struct MergePlan {
  // Inputs, newest first; their sources outlive the job. REQUIRES: neighbours in age, and every
  // commit in them visible to every reader that may see the output.
  std::vector<std::unique_ptr<EntryIterator>> inputs;
  std::vector<RangeTombstone> range_deletes;  // of all inputs
  // The inputs are some of the tables of one run that has range deletes. A range delete is kept by
  // one table of its run and covers the rows of all of them, so every range delete of the inputs
  // stays.
  bool part_of_run = false;

  // Read once, for the whole job.
  TableSchema schema;
  MergeFacts facts;                 // facts.bottom: there is nothing older than the inputs
  CommitStamp tablet_gc_watermark;  // of everything in the tablet; see TableMeta::gc_watermark
  CommitStamp inputs_gc_watermark;  // of all inputs

  // Outputs.
  TabletId tablet;
  std::string tablet_start;
  std::string tablet_end;
  uint64_t run = 0;                     // TableMeta::run of every output
  uint64_t table_bytes = 256ull << 20;  // an output ends at the first row boundary after this size
  std::optional<Compression> compression;  // absent: from the schema
  size_t part_bytes = 0;                   // TableWriterOptions::part_bytes
  IoClass io_class = IoClass::compaction;
  Pace* pace =
      nullptr;  // measures the work and pauses between slices; outlives the job. May be null
  uint64_t entries = 0;  // approximate number in all inputs, for the progress. 0: unknown
  // Grants slices; outlives the job. Null: every turn has a slice of kSliceEntries.
  Background* background = nullptr;
  BackgroundKind kind = BackgroundKind::merge;
};

// Supplies the ids of outputs.
class BlobIds {
 public:
  virtual ~BlobIds() = default;
  // UNAVAILABLE with a retry hint while there is none.
  virtual Result<BlobId> next_blob_id() = 0;
};

}  // namespace cellar::engine
