// Previews of rules (SEMANTICS 5): what another rule of a family would hide or kill, before
// anything changes.
//
//   plan on shard 0: refused as the alteration would be; the schema as it would leave it
//   then tablet after tablet, in key order, by the map as it is when the preview comes to each:
//     on the tablet's shard a cursor with a PreviewWatch, in slices; every few slices back, to tell
//     how far it is and to ask whether anybody still waits
//
// A tablet that is gone (split, merged, moved) has given nothing: it is asked for again by the next
// map. What a cursor has begun it reads to its end. A preview sees each row as a scan does: as of
// its own moment, all writes acknowledged before the preview began included.
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
  RetentionRule rule;                     // an empty one: keep everything
  uint32_t samples = 0;                   // at most kMaxPreviewSamples
  bool close_oldest_undo_window = false;  // as of TableChange
  bool approximate = false;               // by what is known of files alone; nothing is read
};

struct PreviewReport {
  PreviewCount count;                // approximate: a guess within the bounds
  std::vector<std::string> samples;  // the first rows that would lose a cell; not when approximate
  // Loosening the rule within so long after the change brings all of it back; 0: it would be dead.
  int64_t undo_window_us = 0;
  bool approximate = false;
  PreviewCount least;
  PreviewCount most;
};

// Where a preview stands.
struct PreviewProgress {
  PreviewCount count;
  uint64_t rows_about = 0;  // of the table, by its files; rows in several count as often
};

// Asked on the shard that asked for the preview, every few milliseconds of work.
class PreviewListener {
 public:
  // An error ends the preview with it.
  virtual Result<void> go_on(const PreviewProgress& progress) = 0;

 protected:
  ~PreviewListener() = default;
};

}  // namespace cellar::engine
