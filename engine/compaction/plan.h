// MergePlan: everything a flush or a compaction needs to know, fixed before it begins. The job
// touches no tablet state, so it may run beside anything; the owner installs what it answers.
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
  // What goes in, newest first; what they read outlives the job. REQUIRES: neighbours in age, and
  // every commit in them visible to every reader that may come to see the output.
  std::vector<std::unique_ptr<EntryIterator>> inputs;
  std::vector<StampedRange> range_deletes;  // of all inputs
  // The inputs are some of the tables of one run. A range delete is kept by one table of its run
  // and covers the rows of all of them, so every range delete of the inputs stays.
  bool part_of_run = false;

  // One reading of each, for the whole job.
  TableSchema schema;
  MergeFacts facts;            // facts.bottom: nothing older than the inputs exists
  CommitStamp tablet_settled;  // of everything in the tablet; TableMeta::settled says what that is
  CommitStamp inputs_settled;  // of all inputs

  // What comes out.
  TabletId tablet;
  std::string tablet_start;
  std::string tablet_end;
  uint64_t run = 0;                     // TableMeta::run of every output
  uint64_t table_bytes = 256ull << 20;  // an output is closed at the first row boundary past this
  std::optional<Compression> compression;  // absent: as the schema says
  size_t part_bytes = 0;                   // TableWriterOptions::part_bytes
  IoClass io_class = IoClass::compaction;
  Pace* pace = nullptr;  // rests between slices; outlives the job. None: it never rests
  uint64_t entries = 0;  // of all inputs, about: how far the job is, for the pace. 0: not known
  // Who says when a slice may begin; outlives the job. None: every turn has one, of kSliceEntries.
  Background* background = nullptr;
  BackgroundKind kind = BackgroundKind::merge;
  double least_share = Background::kLeastShare;  // of the processor
};

// Where outputs get their names.
class BlobIds {
 public:
  virtual ~BlobIds() = default;
  // UNAVAILABLE, with a retry hint, while there is none.
  virtual Result<BlobId> next_blob_id() = 0;
};

}  // namespace cellar::engine
