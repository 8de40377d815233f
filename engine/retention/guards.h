// WriteGuards: which cells the families of a table take at an instant (SEMANTICS 4): the write
// window and the refusal of what would be dead on arrival. Judged at the commit's own time, from
// the request alone: no guard reads.
//
// The age that alone kills, of a rule: of max_age its age, of max_versions none, of a union the
// least of its parts', of an intersection the greatest if every part has one. A cell without its
// own expiry is dead on arrival when it is older than that; one with it when that date has passed,
// whatever the rule says.
//
// What the server stamps lies in every window by definition. Families that take no such cell are
// refused for form (model/mutation.h).
//
// Example, max_age 1 d, window past 2 d, future 1 h, at noon: accepted is what is stamped from noon
// yesterday on (the age is the tighter bound) and before 13:00; with its own expiry, from noon of
// the day before yesterday on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
    std::optional<int64_t> fatal_age_us;  // the age that alone kills
    bool open = true;                     // takes every cell without its own expiry
  };
  const Family* find(Bytes name) const;

  std::vector<Family> families_;  // by name
};

// The age that alone kills; none when versions have a say.
std::optional<int64_t> fatal_age_us(const RetentionRule& rule);

}  // namespace cellar::engine
