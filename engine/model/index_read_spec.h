// The parameters of a read through an index (SEMANTICS 11).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/index_schema.h"
#include "engine/model/read_spec.h"
#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

// Values or qualifiers between two bounds; an absent one is unbounded. Equality is [v, v], closed.
struct KeyPartRange {
  std::optional<std::string> start;
  std::optional<std::string> end;
  bool start_open = false;
  bool end_closed = false;

  static KeyPartRange exactly(Bytes value) {
    return {std::string(value), std::string(value), false, true};
  }
  bool operator==(const KeyPartRange&) const = default;
};

struct IndexReadSpec {
  std::string index;      // name
  uint64_t index_id = 0;  // IndexSchema::id; another index of that name is not read. 0: any
  std::optional<KeyPartRange> values;
  std::optional<KeyPartRange> qualifiers;
  std::optional<TimeRange> time;
  RowSet rows = RowSet::everything();
  bool reversed = false;
  // Whole rows instead of cells: each once, at its first hit. Filter, versions and time range of
  // `row` apply to them (FilterPlan::narrow); its rows do not.
  bool whole_rows = false;
  ReadSpec row;
  // Resumes behind this position (IndexHit::position); empty: at the beginning.
  std::string after;
  // Candidates that are not returned are returned too, with what hid them.
  bool explain = false;
};

// INVALID_ARGUMENT: a condition on something that is no key part of the index, a range that ends
// before it starts by the order of the type, an empty, negative or misaligned time range, a value
// that is not 8 bytes asked of an int64 index, a position that is none of the index.
Result<void> validate_index_read(const IndexReadSpec& spec, const IndexSchema& index,
                                 Granularity granularity);

}  // namespace cellar
