// Text notation of retention rules, with the words of `cbt`:
//
//   maxage=2d or maxversions=3               dead if either holds (union of the contract)
//   maxage=2d and maxversions=2              dead if both hold (intersection)
//   maxage=30d or (maxage=3d and maxversions=100)
//   never                                    keep everything; also: none
//
// `||` and `&&` may replace `or` and `and`, max_age and max_versions the short words, and blanks
// are allowed between all words. `and` binds tighter than `or`. If `cbt`, which parses from left to
// right, would read a rule differently ("a or b and c"), parentheses are required: a misunderstood
// rule deletes data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/client/api/admin.h"

namespace cellar::cli {

using Rule = std::optional<client::RetentionRule>;  // absent: keep everything

// INVALID_ARGUMENT shows what was expected, the text, and a mark under the column. Nested groups of
// the same kind and redundant parentheses are flattened, which does not change the meaning.
Result<Rule> parse_rule(std::string_view text);

// The canonical text; parse_rule() converts it back to the same rule.
std::string rule_text(const Rule& rule);

// The rule at pre-order position `index`, by which the node identifies a clause; null if there is
// none.
const client::RetentionRule* rule_clause(const client::RetentionRule& rule, size_t index);

}  // namespace cellar::cli
