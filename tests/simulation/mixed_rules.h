// MixedRules: rules of an age and a number of versions, by SEMANTICS 3, for RowMachine.
//
// A family of the kind `mixed` has one of a few rules, each of which keeps all that the one below
// it keeps, so that of two rules one is the tighter. A rule is its number: 1 is the tightest, 0
// keeps everything.
//
// Here the instant of a commit matters to other cells: what counts as a newer version may have died
// before it. So the columns are brought to the instant of each commit, death by death.
#pragma once

#include <cstdint>
#include <set>

#include "net/client/client.h"
#include "tests/simulation/row_state.h"

namespace cellar::simulation {

// REQUIRES: 1 <= rule <= kMixedRules.
client::RetentionRule mixed_rule(int64_t rule);

// Removes what is due at the instant, newest version first.
void collect_mixed(RowState::Columns& columns, int64_t rule, int64_t now_us);
// What time alone does in (from_us, to_us].
void pass_mixed(RowState::Columns& columns, int64_t rule, int64_t from_us, int64_t to_us);
// Adds the instants in (from_us, to_us] at which a cell may die.
void add_mixed_deaths(const RowState::Columns& columns, int64_t rule, int64_t from_us,
                      int64_t to_us, std::set<int64_t>& at);

}  // namespace cellar::simulation
