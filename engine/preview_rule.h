// Previews of rules (SEMANTICS 5): what another rule of a family would hide or kill, before
// anything changes.
//
//   plan on shard 0: refused as the alteration would be; gives the schema after it
//   then each tablet in key order, by the table map at that moment:
//     on the tablet's shard a cursor with a PreviewWatch, in slices; every few slices back to the
//     calling shard, to report progress and to learn whether the caller still waits
//
// A tablet that has been split, merged or moved gives nothing and is looked up again in the next
// map. A cursor that has begun a tablet reads it to its end. A preview sees each row as a scan
// does: at its own moment, including all writes acknowledged before the preview began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/retention_rule.h"
#include "engine/model/schema.h"
#include "engine/read/preview.h"
#include "io/base/result.h"

namespace cellar::engine {

inline constexpr uint32_t kMaxPreviewSamples = 1000;

struct PreviewRequest {
  std::string table;
  std::string family;
  RetentionRule rule;                     // empty: keep everything
  uint32_t samples = 0;                   // at most kMaxPreviewSamples
  bool close_oldest_undo_window = false;  // as in TableChange
  bool approximate = false;               // by the metadata of tables only; nothing is read
};

struct PreviewReport {
  PreviewCount count;                // approximate: an estimate within the bounds
  std::vector<std::string> samples;  // the first rows that would lose a cell; not when approximate
  // How long after the change loosening the rule restores all of it; 0: it is dead at once.
  int64_t undo_window_us = 0;
  bool approximate = false;
  PreviewCount least;
  PreviewCount most;
};

// The progress of a preview.
struct PreviewProgress {
  PreviewCount count;
  // about the rows of the table, by its files; rows in several count as often
  uint64_t rows_about = 0;
};

// Called on the shard that asked for the preview, every few milliseconds of work.
class PreviewListener {
 public:
  // An error ends the preview, which returns it.
  virtual Result<void> go_on(const PreviewProgress& progress) = 0;

 protected:
  ~PreviewListener() = default;
};

}  // namespace cellar::engine
