// Indexes on the command line: definitions, changes and reads as arguments, and back as text
// (SEMANTICS 11).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"
#include "net/client/api/indexes.h"
#include "net/client/codec/requests.h"

namespace cellar::cli {

std::vector<KeySpec> index_definition_keys();  // on, order, type, match, covered
std::vector<KeySpec> index_change_keys();      // max-age, tighter-base: those that can be altered
std::vector<KeySpec> index_read_keys();

// Reads both lists; INVALID_ARGUMENT names the argument. What may be combined is the node's matter.
Result<client::IndexSpec> index_spec(const Session& session, const Arguments& arguments);
// INVALID_ARGUMENT if nothing changes.
Result<client::AlterIndex> index_change(const Arguments& arguments);
Result<client::ReadIndex> index_read(const Session& session, const Arguments& arguments);

// "A..B", where either side may be missing: from A up to before B; "A..=B": up to B. Keys, values
// and qualifiers in the forms of Session::input().
Result<client::RowRange> parse_range(const Session& session, std::string_view text);

std::string_view name_of(client::IndexPart part);
std::string_view name_of(client::IndexType type);
std::string_view name_of(client::IndexMatch match);
std::string_view name_of(client::TighterBase answer);

}  // namespace cellar::cli
