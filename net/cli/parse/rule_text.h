// A retention rule as people write it, in the words of `cbt`, and back:
//
//   maxage=2d or maxversions=3               dead when either says so (the contract's union)
//   maxage=2d and maxversions=2              dead when both say so (its intersection)
//   maxage=30d or (maxage=3d and maxversions=100)
//   never                                    keep everything; also: none
//
// `||` and `&&` may stand for `or` and `and`, max_age and max_versions for the short words, and
// blanks may stand between all words. `and` binds tighter than `or`. Where `cbt`, which reads from
// the left, would understand something else ("a or b and c"), parentheses are asked for: a rule
// that is misunderstood kills data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/admin.h"

namespace cellar::cli {

using Rule = std::optional<client::RetentionRule>;  // absent: keep everything

// INVALID_ARGUMENT: what was expected, with the text and a mark under the column. A group within a
// group of its own kind, and parentheses round a single part, come out flat: they change nothing.
Result<Rule> parse_rule(std::string_view text);

// The canonical text: parse_rule() takes it back to the same rule.
std::string rule_text(const Rule& rule);

// The rule at `index` of the tree's pre-order, which is how the node names a clause; null when
// there is none.
const client::RetentionRule* rule_clause(const client::RetentionRule& rule, size_t index);

}  // namespace cellar::cli
