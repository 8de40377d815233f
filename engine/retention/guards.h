// WriteGuards: the cells that the families of a table accept at an instant (SEMANTICS 4): the write
// window, and the refusal of cells that are dead on arrival. Evaluated at the time of the commit
// from the request only: guards read no data.
//
// A cell without its own expiry is dead on arrival if it is older than the fatal age of its
// family's rule (model/fatal_age.h); a cell with one if that time has passed, whatever the rule is.
//
// Timestamps assigned by the server are in every window by definition. A family that accepts none
// refuses them for form (model/mutation.h).
//
// Example, max_age 1 d, window past 2 d, future 1 h, at noon: accepted are timestamps from noon
// yesterday on (the age is the tighter bound) and before 13:00; with an own expiry, from noon of
// the day before yesterday on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/fatal_age.h"
#include "engine/model/mutation.h"
#include "engine/model/schema.h"
#include "io/base/result.h"

namespace cellar::engine {

class WriteGuards {
 public:
  // Views `schema`, which must outlive it.
  explicit WriteGuards(const TableSchema& schema);

  // OUT_OF_RANGE for the first cell that its family does not take at `now_us`, naming timestamp,
  // bound and clock. REQUIRES: validate_mutation succeeded. O(cells).
  Result<void> check(const RowMutation& mutation, int64_t now_us) const;

 private:
  struct Family {
    const FamilySchema* schema = nullptr;
    std::optional<int64_t> fatal_age_us;  // the fatal age
    bool open = true;                     // accepts every cell without its own expiry
  };
  const Family* find(Bytes name) const;

  std::vector<Family> families_;  // by name
};

}  // namespace cellar::engine
