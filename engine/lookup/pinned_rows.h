// PinnedRows: reads rows of a version of a tablet as of one stamp and one time, for a read through
// an index. The newest versions of a few columns are read by NewestRead, everything else by a
// cursor.
//
// One shard. One call at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/filter/named_columns.h"
#include "engine/index_scan.h"
#include "engine/model/read_spec.h"
#include "engine/read/newest_read.h"
#include "engine/read/scan.h"
#include "engine/version/version.h"

namespace cellar::engine {

class PinnedRows {
 public:
  // More cells of one row, with their bytes, are not collected (SEMANTICS 6).
  static constexpr size_t kMaxRowBytes = 256u << 20;

  // The instant at which rows are read.
  struct Instant {
    CommitStamp stamp;
    int64_t now_us = 0;  // not before the stamp
  };
  // All that is passed must outlive it, or the next reset(). `start` and `end` are the tablet's.
  PinnedRows(const SchemaSnapshot& schema, const std::string& start, const std::string& end);

  void reset(const Version* version, Instant instant);

  // As read_columns(), without a wait: false, and nothing is appended, if it does not suffice.
  bool read_at_once(Bytes row, const NamedColumns& columns, uint32_t versions,
                    std::vector<HitCell>& cells);
  // Appends the living cells of these columns of the row, by column, newest first: the newest
  // `versions` of each; 0: all. Where these are many, only those of `times`, if versions is 0.
  // FAILED_PRECONDITION: they exceed kMaxRowBytes.
  Async<Result<void>> read_columns(Bytes row, const NamedColumns& columns, uint32_t versions,
                                   std::vector<HitCell>& cells, const TimeRange& times = {});
  // Appends what `spec` passes of the row; its rows do not count. With explain or include_dead the
  // cells have notes. `columns`: the only ones wanted; null: all. Errors as above.
  Async<Result<void>> read_row(Bytes row, const ReadSpec& spec, std::vector<HitCell>& cells,
                               const NamedColumns* columns = nullptr);
  // Passes the sink what `spec` passes of the row, until it pauses.
  Async<Result<void>> visit_row(Bytes row, ReadSpec spec, const NamedColumns* columns,
                                CellSink& sink);

 private:
  struct AsOf final : VisibleStamp {
    CommitStamp stamp;
    CommitStamp visible_stamp() const override { return stamp; }
  };

  Async<bool> read_newest(Bytes row, const NamedColumns& columns, uint32_t versions,
                          std::vector<HitCell>& cells);
  NewestRead::Outcome run_newest(Bytes row, const NamedColumns& columns, uint32_t versions);
  void take_newest(std::vector<HitCell>& cells);

  const SchemaSnapshot& schema_;
  const std::string& start_;
  const std::string& end_;
  const Version* version_ = nullptr;
  ReadSources all_sources_;  // made when something is explained
  AsOf as_of_;
  int64_t now_us_ = 0;
  NewestRead newest_;
};

}  // namespace cellar::engine
