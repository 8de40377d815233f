// The parameters of a read, and the receiver of its results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/key.h"
#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {
namespace engine {
class CompiledFilter;
}

// Rows [start, end); an empty end is unbounded. A single key k is [k, k 00).
struct KeyRange {
  std::string start;
  std::string end;
  bool contains(Bytes row) const { return row >= start && (end.empty() || row < end); }
  bool empty() const { return !end.empty() && start >= end; }
  bool operator==(const KeyRange&) const = default;
  static KeyRange single(Bytes row) { return {std::string(row), std::string(row) + '\0'}; }
  static KeyRange prefix(Bytes p) { return {std::string(p), prefix_successor(p)}; }
};

// The intersection; may be empty().
KeyRange intersect(const KeyRange& a, const KeyRange& b);

// Sorted, disjoint, non-empty ranges. No ranges: no rows. everything() is one unbounded range.
class RowSet {
 public:
  static RowSet everything();
  void add(KeyRange range);  // any order, may overlap; call normalize() once after the last
  // This row alone. Keeps its memory.
  void set_single(Bytes row);
  void normalize();
  const std::vector<KeyRange>& ranges() const { return ranges_; }
  // The part inside [start, end).
  RowSet clip(Bytes start, Bytes end) const;

 private:
  std::vector<KeyRange> ranges_;
};

struct TimeRange {
  int64_t start_us = 0;
  int64_t end_us =
      kMaxTimestampUs;  // exclusive, except that kMaxTimestampUs includes that timestamp
  bool contains(int64_t t) const {
    return t >= start_us && (t < end_us || end_us == kMaxTimestampUs);
  }
};

struct ReadSpec {
  RowSet rows;
  bool reversed = false;
  uint64_t row_limit = 0;  // 0: none
  // Evaluated after deletes: first the time range, then the newest `versions` of each column, then
  // the filter. `filter` has the part that a FilterPlan (engine/filter) could not express by the
  // others.
  TimeRange time_range;
  uint32_t versions = 0;                                 // 0: all
  std::shared_ptr<const engine::CompiledFilter> filter;  // null: pass all
  // Notes returned with each cell in CellView::note.
  bool with_expiry = false;
  bool explain = false;
  bool include_dead = false;  // implies `explain`; filters see the dead cells too
};

// The cause of a cell's death. Numbers are on the wire.
enum class DeathCause : uint8_t {
  none = 0,
  max_age = 1,
  max_versions = 2,
  expiry = 3,  // its own expiry
  deleted = 4,
  hidden = 5,  // hidden by a rule whose undo would restore it
  // Of reads through an index alone: what hides a cell from it that may be read otherwise.
  own_age = 6,     // older than the index's own age
  not_newest = 7,  // the index has the newest versions only
  replaced = 8,    // the version has another value now, or is gone
};
inline constexpr uint16_t kNoClause = UINT16_MAX;

// Additional information about a cell.
struct CellNote {
  int64_t expire_at_us = kNoExpiry;  // its own
  // When it expires if nothing more is written, or when it died: it is not read from this time on.
  // INT64_MAX: never.
  int64_t dies_at_us = INT64_MAX;
  DeathCause cause = DeathCause::none;
  bool dead = false;
  // Pre-order index of the deciding node of the rule then in force.
  uint16_t clause = kNoClause;
};

struct CellView {
  Bytes row;
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  Bytes label = {};                // empty: none
  const CellNote* note = nullptr;  // null: no notes were requested
};

// Receives the results of a read, in order. Views are valid during the call. `pause` stops the
// reader: no further cell follows, at most the end of the row, and the read continues there later.
// Cells of a row are provisional until end_row.
class CellSink {
 public:
  enum class Flow : uint8_t { more, pause };
  virtual ~CellSink() = default;
  virtual Flow cell(const CellView& cell) = 0;
  virtual Flow end_row(Bytes row) = 0;  // only for rows with at least one cell
};

}  // namespace cellar
